// Command flametel profiles a Linux host and draws flame graphs.
package main

import (
	"os"

	"github.com/flametel/flametel/cmd/flametel/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args)) }
