package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/em-infra/em-infra/internal/shell"
)

// toolName is how this program is called where it is installed.
const toolName = "em-infra"

// typed returns a command of this program as its user would type it.
func typed(format string, args ...any) string {
	return calledHere() + " " + fmt.Sprintf(format, args...)
}

// asTyped puts what the user would type into a message of a package, which knows the tool by its name only.
func asTyped(message string) string {
	return strings.ReplaceAll(message, "`"+toolName+" ", "`"+calledHere()+" ")
}

// calledHere returns how this program is called from the folder where its user is, which --directory leads away from.
func calledHere() string {
	return strings.Join(append([]string{calledAs(os.Args[0], startedIn)}, ledBy...), " ")
}

// startedIn is the folder that this program was started in; empty where that cannot be told.
var startedIn, _ = os.Getwd()

// toolPackage is the program's package, which go finds from any folder of the module.
const toolPackage = "github.com/em-infra/em-infra/cmd/" + toolName

// calledAs returns what a person in a folder types to call the program, which was called by the path. One that `go run` has
// built is gone when it ends, and one that is not on PATH is called by its path only.
func calledAs(program, folder string) string {
	switch {
	case isByGoRun(program):
		if info, err := os.Stat(filepath.Join(folder, "cmd", toolName)); err == nil && info.IsDir() {
			return "go run ./cmd/" + toolName
		}
		return "go run " + toolPackage
	case filepath.Base(program) == toolName && strings.ContainsRune(program, filepath.Separator) && !isOnPath(folder, program):
		return shell.Word(program)
	default:
		return toolName
	}
}

// isByGoRun tells from where a program lies whether `go run` has built it: that is in a folder go-build…/b001/exe, which is gone
// when the program ends (cmd/go/internal/work), or in Go's own cache of builds.
func isByGoRun(program string) bool {
	return strings.Contains(filepath.Dir(program), string(filepath.Separator)+"go-build") && !strings.HasSuffix(program, ".test")
}

// isOnPath reports whether a shell that is told the tool's name runs a program, whose path counts from a folder.
func isOnPath(folder, program string) bool {
	if !filepath.IsAbs(program) {
		program = filepath.Join(folder, program)
	}
	found, err := exec.LookPath(toolName)
	if err != nil {
		return false
	}
	there, err := os.Stat(found)
	if err != nil {
		return false
	}
	here, err := os.Stat(program)
	return err == nil && os.SameFile(there, here)
}

// ownPath returns where this program lies, empty where that does not last.
func ownPath() string {
	path, err := os.Executable()
	if err != nil || isByGoRun(path) {
		return ""
	}
	return path
}
