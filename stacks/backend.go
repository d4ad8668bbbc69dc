package stacks

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/em-infra/em-infra/internal/workspace"
)

// checkBackend refuses a plain pulumi that works on another state than the one that the stack's file names: it would create the cluster once
// more. The engine reads PULUMI_BACKEND_URL and Pulumi.yaml only.
func checkBackend(at *workspace.Workspace, env func(string) string) error {
	named, err := at.NamedBackend()
	if err != nil || named == "" {
		return err
	}
	used, err := at.EngineBackend(env)
	if err != nil || used == at.At(named).Backend {
		return err
	}
	what := "the one of its last login"
	if used != "" {
		what, _, _ = strings.Cut(used, "?")
	}
	named, _, _ = strings.Cut(named, "?")
	return fmt.Errorf("the state of stack %s is in %s (em-infra:backend in %s), and pulumi uses another one, %s: run `eval \"$(em-infra tools env --stack %s)\"` in this shell, then run again",
		at.Stack, named, filepath.Base(at.StackFile()), what, at.Stack)
}
