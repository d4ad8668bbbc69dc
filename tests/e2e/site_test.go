package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2ESite is the life of a project with the stacks of two layers, the samples: brought up layer by layer, held up in the second one, gone on
// with from there, unchanged by another run, and destroyed from the top.
func TestE2ESite(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	s := newSite(t, "site-hosts", "site-systems")

	require.Contains(t, s.site(2, "preview", "--lab"), "site-hosts    hosts    changes\nsite-systems  systems  changes\n")

	s.outsideOfStacks("lab", "fault", "set", "download-fails", "--stack", "site-systems")
	stopped := s.site(1, "up", "--lab", "--yes")
	require.Contains(t, stopped, "site-hosts    hosts    up\nsite-systems  systems  failed\nstopped at site-systems: do what its message says, then run `")
	require.Contains(t, stopped, "download failed")
	s.outsideOfStacks("lab", "fault", "clear", "--stack", "site-systems")

	require.Contains(t, s.site(0, "up", "--lab", "--yes"), "site-hosts    hosts    up\nsite-systems  systems  up\n")
	require.Contains(t, s.site(0, "preview", "--lab"), "site-hosts    hosts    no changes\nsite-systems  systems  no changes\n")
	require.Contains(t, s.site(0, "status", "--lab"), "site-hosts    hosts    sound\nsite-systems  systems  sound\n")
	require.Contains(t, s.site(0, "destroy", "--lab", "--yes"), "site-systems  systems  gone\nsite-hosts    hosts    gone\n")
}

// newSite returns a project of its own with sample stacks, each with a lab.
func newSite(t *testing.T, stacks ...string) *rehearsal {
	t.Helper()
	checkout, root := projectRoot(t), t.TempDir()
	r := &rehearsal{t: t, stack: stacks[0], root: root}
	require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.yaml"), []byte(r.read(filepath.Join(checkout, "Pulumi.yaml"))), 0o600))
	for _, stack := range stacks {
		name := "Pulumi." + stack + ".yaml"
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(r.read(filepath.Join(checkout, name))), 0o600))
		inventory := filepath.Join("stacks", stack)
		require.NoError(t, os.CopyFS(filepath.Join(root, inventory), os.DirFS(filepath.Join(checkout, inventory))))
		t.Cleanup(func() {
			if output, err := r.command(context.Background(), "lab", "stop", "--stack", stack).CombinedOutput(); err != nil {
				t.Errorf("lab stop: %v\n%s", err, output)
			}
		})
		r.outsideOfStacks("lab", "start", "--stack", stack)
	}
	return r
}

// site runs a command on all stacks of the project.
func (r *rehearsal) site(code int, args ...string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), runBound)
	defer cancel()
	command := r.command(ctx, append([]string{"site"}, args...)...)
	output, _ := command.CombinedOutput() // the exit code says how it ended
	require.Equal(r.t, code, command.ProcessState.ExitCode(), "%s", output)
	return string(output)
}
