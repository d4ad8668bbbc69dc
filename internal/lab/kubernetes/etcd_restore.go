package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// EtcdDatabase implements [talos.Kubernetes].
func (c *Clusters) EtcdDatabase(etcdCluster string) (io.ReadCloser, error) {
	return os.Open(folder(c.dir(etcdCluster)).path("etcd", "member", "snap", "db"))
}

// EtcdRestore implements [talos.Kubernetes] with etcd's own etcdutl. The member has the name and address that the lab gives to etcd.
// The names and addresses of the nodes are in the lab's list of members.
func (c *Clusters) EtcdRestore(ctx context.Context, etcdCluster, snapshot string, skipHashCheck bool) error {
	to := folder(c.dir(etcdCluster))
	if err := os.MkdirAll(to.path(), 0o700); err != nil {
		return err
	}
	peer := "https://" + local(peerPort).String()
	command := exec.CommandContext(ctx, c.config.Tools.ControlPlanes[0].Path, "etcdutl", "snapshot", "restore", snapshot,
		"--data-dir", to.path("etcd"), "--name", memberName, "--initial-cluster", memberName+"="+peer, "--initial-advertise-peer-urls", peer,
		fmt.Sprintf("--skip-hash-check=%t", skipHashCheck))
	command.Dir = to.path()
	command.Env = []string{"HOME=" + to.path(), "PATH=" + os.Getenv("PATH")}
	var output bytes.Buffer
	command.Stdout, command.Stderr = io.Discard, &output
	if err := command.Run(); err != nil {
		return errors.Join(restoreError(ctx, err, output.String()), os.RemoveAll(to.path()))
	}
	return nil
}

// restoreError returns the last line that etcdutl printed, as an error.
func restoreError(ctx context.Context, err error, output string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if last := strings.TrimPrefix(lines[len(lines)-1], "Error: "); last != "" {
		return errors.New(last)
	}
	return fmt.Errorf("etcdutl: %w", err)
}
