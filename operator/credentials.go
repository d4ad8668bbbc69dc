package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/atomicfile"
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

// keepFrom keeps the credentials of the cluster in a state, if it has any.
func (c credentialFiles) keepFrom(ctx context.Context, cluster clusterInState) (kept bool, err error) {
	kubeconfig, talosconfig, err := cluster.credentials(ctx)
	if err != nil || kubeconfig == "" || talosconfig == "" {
		return false, err
	}
	err = c.keep(stacks.Outputs{Kubeconfig: kubeconfig, Talosconfig: talosconfig})
	return err == nil, err
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

// SalvageCredentials keeps the credentials of a cluster that works although its run failed, for example in an addon. The stack then
// has no outputs, so it reads those of the cluster's component. It emits [CredentialsKept], or nothing if there is no cluster yet.
func (p platformRun) SalvageCredentials(ctx context.Context) error {
	kept, err := p.engine.credentials().keepFrom(ctx, p.etcd.cluster)
	if kept {
		p.engine.emit(CredentialsKept{Kubeconfig: p.engine.credentials().kubeconfig()})
	}
	return err
}
