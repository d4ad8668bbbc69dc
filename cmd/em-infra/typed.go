package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/shell"
)

// toolName is the name of this program where it is installed.
const toolName = "em-infra"

// typed returns a command of this program as its user types it.
func typed(format string, args ...any) string {
	return calledHere() + " " + fmt.Sprintf(format, args...)
}

// asTyped replaces the tool's name in a message of a package by what the user types.
func asTyped(message string) string {
	return strings.ReplaceAll(message, "`"+toolName+" ", "`"+calledHere()+" ")
}

// placeOf returns where the commands in a message are typed: on the stack of the command that was executed.
func placeOf(executed *cobra.Command) remedy.Place {
	value := func(name string) string {
		if flag := executed.Flag(name); flag != nil {
			return flag.Value.String()
		}
		return ""
	}
	stack := value("stack")
	if stack == "" {
		return remedy.Place{}
	}
	return remedy.On(stack, value("inventory"), value("lab") == "true")
}

// calledHere returns how to call this program from the user's folder, which --directory changes.
func calledHere() string {
	return strings.Join(append([]string{calledAs(os.Args[0], startedIn)}, ledBy...), " ")
}

// startedIn is the folder in which this program was started; empty if it is unknown.
var startedIn, _ = os.Getwd()

// toolPackage is the program's package, which go resolves in any folder of the module.
const toolPackage = "github.com/em-infra/em-infra/cmd/" + toolName

// calledAs returns how a user in a folder calls the program at a path. A program that `go run` has built is deleted when it
// ends, so it is called by `go run`; a program that is not on PATH is called by its path.
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

// isByGoRun reports whether `go run` has built the program: it is in a folder go-build…/b001/exe, which is deleted when the
// program ends (cmd/go/internal/work), or in Go's own cache of builds.
func isByGoRun(program string) bool {
	return strings.Contains(filepath.Dir(program), string(filepath.Separator)+"go-build") && !strings.HasSuffix(program, ".test")
}

// isOnPath reports whether a shell runs this program when the user types its name. The path is relative to folder.
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

// ownPath returns the path of this executable; empty if `go run` will remove it.
func ownPath() string {
	path, err := os.Executable()
	if err != nil || isByGoRun(path) {
		return ""
	}
	return path
}
