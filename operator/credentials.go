package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/recovery"
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
		atomicfile.WriteBeside(c.kubeconfig(), []byte(outputs.Kubeconfig), 0o600),
		atomicfile.WriteBeside(c.talosconfig(), []byte(outputs.Talosconfig), 0o600),
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

// administrator returns a talosconfig from the machine secrets in the state, whose endpoints are the control planes of the state and of
// the inventory. The outputs of a stack are missing while a run has not ended. It is nil if there are no secrets yet.
func (s *session) administrator(ctx context.Context) ([]byte, error) {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	secrets := state.MachineSecrets(exported.Deployment)
	if secrets == nil {
		return nil, nil
	}
	credentials, err := recovery.CredentialsOf(secrets)
	if err != nil {
		return nil, err
	}
	endpoints := state.ControlPlaneAddresses(exported.Deployment)
	for _, node := range s.inventory.Nodes.ControlPlanes() {
		endpoints = append(endpoints, node.Address.String())
	}
	slices.Sort(endpoints)
	return nodeops.Credentials(credentials).Talosconfig(slices.Compact(endpoints)...)
}

// SalvageCredentials keeps the credentials of a cluster that works although its run failed, for example in an addon. The stack then
// has no outputs, so it reads those of the cluster's component. It emits [CredentialsKept], or nothing if there is no cluster yet.
func (s *session) SalvageCredentials(ctx context.Context) error {
	kept, err := s.keepCredentials(ctx)
	if kept {
		s.emit(CredentialsKept{Kubeconfig: s.credentials().kubeconfig()})
	}
	return err
}

// keepCredentials keeps the credentials of the cluster in the state, if it has any.
func (s *session) keepCredentials(ctx context.Context) (kept bool, err error) {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return false, err
	}
	kubeconfig, talosconfig, err := state.ClusterCredentials(exported.Deployment)
	if err != nil || kubeconfig == "" || talosconfig == "" {
		return false, err
	}
	err = s.credentials().keep(stacks.Outputs{Kubeconfig: kubeconfig, Talosconfig: talosconfig})
	return err == nil, err
}
