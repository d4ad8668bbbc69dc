package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/stacks"
)

// credentialFiles are the files with a cluster's credentials.
type credentialFiles struct{ dir string }

func (o *Operator) credentials() credentialFiles {
	return credentialFiles{dir: o.workspace.Credentials}
}

func (c credentialFiles) kubeconfig() string  { return filepath.Join(c.dir, "kubeconfig") }
func (c credentialFiles) talosconfig() string { return filepath.Join(c.dir, "talosconfig") }

// keep writes the credentials to files that only their owner can read.
func (c credentialFiles) keep(outputs stacks.Outputs) error {
	err := errors.Join(
		os.WriteFile(c.kubeconfig(), []byte(outputs.Kubeconfig), 0o600),
		os.WriteFile(c.talosconfig(), []byte(outputs.Talosconfig), 0o600),
	)
	if err != nil {
		return fmt.Errorf("write credentials: %w", err)
	}
	return nil
}

// forget removes the credentials of a deleted cluster.
func (c credentialFiles) forget() error {
	for _, file := range []string{c.kubeconfig(), c.talosconfig()} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// outputs returns the outputs of a stack that was brought up completely.
func (s *session) outputs(ctx context.Context) (stacks.Outputs, error) {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return stacks.Outputs{}, err
	}
	values, err := engine.Outputs(exported.Deployment)
	if err != nil {
		return stacks.Outputs{}, err
	}
	return stacks.ParseOutputs(values)
}

// salvageCredentials keeps the credentials of a cluster that works although its run failed, for example in an addon. The stack then
// has no outputs, so it reads those of the cluster's component. It emits [CredentialsKept], or nothing if there is no cluster yet.
func (s *session) salvageCredentials(ctx context.Context) error {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return err
	}
	kubeconfig, talosconfig, err := state.ClusterCredentials(exported.Deployment)
	if err != nil || kubeconfig == "" || talosconfig == "" {
		return err
	}
	if err := s.credentials().keep(stacks.Outputs{Kubeconfig: kubeconfig, Talosconfig: talosconfig}); err != nil {
		return err
	}
	s.emit(CredentialsKept{Kubeconfig: s.credentials().kubeconfig()})
	return nil
}
