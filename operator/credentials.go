package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/stacks"
)

func (o *Operator) kubeconfigFile() string {
	return filepath.Join(o.workspace.Credentials, "kubeconfig")
}

func (o *Operator) talosconfigFile() string {
	return filepath.Join(o.workspace.Credentials, "talosconfig")
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

// keepCredentials writes the credentials to files that only their owner can read.
func (s *session) keepCredentials(outputs stacks.Outputs) error {
	err := errors.Join(
		os.WriteFile(s.kubeconfigFile(), []byte(outputs.Kubeconfig), 0o600),
		os.WriteFile(s.talosconfigFile(), []byte(outputs.Talosconfig), 0o600),
	)
	if err != nil {
		return fmt.Errorf("write credentials: %w", err)
	}
	return nil
}

// salvageCredentials keeps the credentials of a cluster that works although its run failed, for example in an addon. The stack then
// has no outputs, so it reads those of the cluster's component. It emits [CredentialsKept], or nothing if there is no cluster yet.
func (s *session) salvageCredentials(ctx context.Context) error {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return err
	}
	kubeconfig, talosconfig, err := engine.ClusterCredentials(exported.Deployment)
	if err != nil || kubeconfig == "" || talosconfig == "" {
		return err
	}
	if err := s.keepCredentials(stacks.Outputs{Kubeconfig: kubeconfig, Talosconfig: talosconfig}); err != nil {
		return err
	}
	s.emit(CredentialsKept{Kubeconfig: s.kubeconfigFile()})
	return nil
}

// forgetCredentials removes the credentials of a deleted cluster.
func (s *session) forgetCredentials() error {
	for _, file := range []string{s.kubeconfigFile(), s.talosconfigFile()} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
