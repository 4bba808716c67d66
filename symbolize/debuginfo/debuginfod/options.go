package debuginfod

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Options are the settings of a Client; those that are zero get defaults.
type Options struct {
	// URLs of the servers, asked in this order, such as
	// https://debuginfod.debian.net. At least one is needed.
	URLs []string
	// CacheDir is where files are kept, needed. It is made with mode 0700 if
	// it does not exist, and must belong to the profiler alone.
	CacheDir string
	// MaxCacheBytes bounds all files in CacheDir, those being fetched too;
	// 1 GiB. MaxFileBytes bounds one file; half of it.
	MaxCacheBytes int64
	MaxFileBytes  int64
	// AbsentFor is how long a server's answer that it has no such file is
	// believed; one hour. RetryAfter is the same for failures; one minute.
	AbsentFor  time.Duration
	RetryAfter time.Duration
	// Stall is how long a server may send nothing; 30 s. Servers unpack
	// packages before they answer.
	Stall time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (o *Options) complete() {
	setDefault(&o.MaxCacheBytes, 1<<30)
	setDefault(&o.MaxFileBytes, o.MaxCacheBytes/2)
	setDefault(&o.AbsentFor, time.Hour)
	setDefault(&o.RetryAfter, time.Minute)
	setDefault(&o.Stall, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
}

func setDefault[T int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// ValidateURL tells what is wrong with the URL of a server.
func ValidateURL(text string) error {
	_, err := parseURL(text)
	return err
}

// parseURL accepts what can be asked without secrets. Errors do not repeat the
// URL, which may hold some.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("debuginfod server: it is not a URL")
	}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("debuginfod server %s: remove the user name and password, they are not used", u.Host)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("debuginfod server %s: use an http or https URL", u.Host)
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("debuginfod server: its URL names no host")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("debuginfod server %s: remove what follows ? or # in its URL", u.Host)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}
