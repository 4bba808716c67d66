//go:build !linux

package symbolize

import (
	"errors"
	"os"
	"strconv"

	"github.com/flametel/flametel/symbolize/procmap"
)

type located struct {
	file    *os.File
	id      identity
	buildID []byte
}

var errNoProcfs = errors.New("files of processes are found through Linux's procfs")

func itoa(n int) string { return strconv.Itoa(n) }

func (s *Symbolizer) locate(origin) (*located, error) { return nil, errNoProcfs }

func identify(*os.File) (identity, error) { return identity{}, errNoProcfs }

func (s *Symbolizer) readVDSO(string, *procmap.Mapping) ([]byte, error) { return nil, errNoProcfs }
