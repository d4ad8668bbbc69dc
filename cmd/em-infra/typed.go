package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// toolName is how this program is called where it is installed.
const toolName = "em-infra"

// typed is a command of this program as its user would type it.
func typed(format string, args ...any) string {
	return calledHere() + " " + fmt.Sprintf(format, args...)
}

// asTyped puts what the user would type into a message of a package, which knows the tool by its name only.
func asTyped(message string) string {
	return strings.ReplaceAll(message, "`"+toolName+" ", "`"+calledHere()+" ")
}

// calledHere is how this program is called from the folder where its user is, which --directory leads away from.
func calledHere() string { return strings.Join(append([]string{calledAs(os.Args[0])}, ledBy...), " ") }

// calledAs tells from where the program lies whether `go run` has built it: that is in a folder go-build…/b001/exe, which
// is gone when the program ends (cmd/go/internal/work), or in Go's own cache of builds.
func calledAs(program string) string {
	folder := filepath.Dir(program)
	byGoRun := strings.Contains(folder, string(filepath.Separator)+"go-build") && !strings.HasSuffix(program, ".test")
	if byGoRun {
		return "go run ./cmd/" + toolName
	}
	return toolName
}
