// Command generate writes docs/inventory*.md and the JSON schemas of the inventory files. It runs in the folder of the package
// reference, where go generate starts it.
package main

import (
	"fmt"
	"os"

	"github.com/em-infra/em-infra/internal/inventory/reference"
)

func main() {
	if err := reference.Write("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
