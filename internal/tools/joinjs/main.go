// Joinjs joins the JavaScript files of a folder, in the order of their names,
// into one without comments and needless space and with short names for those
// that the script defines itself, so that it takes little room in each file that
// it is embedded in. The file globals.txt of the folder lists the names that it
// uses but does not define.
//
//	joinjs OUTPUT FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: joinjs OUTPUT FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "joinjs:", err)
		os.Exit(1)
	}
}

func run(output, folder string) error {
	globals, err := os.ReadFile(filepath.Join(folder, "globals.txt"))
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.js"))
	if err != nil {
		return err
	}
	var source strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		source.Write(b)
	}
	text, err := Strip(source.String(), string(globals))
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	return os.WriteFile(output, []byte(text), 0o644) // #nosec G306: a source file
}
