package e2e_test

import (
	"io"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/stretchr/testify/require"
)

// TestE2EAProtectedClusterIsNotDestroyed: neither em-infra nor a plain engine makes one call that writes, and the state
// stays as it is, until the protection is taken back.
func TestE2EAProtectedClusterIsNotDestroyed(t *testing.T) {
	t.Parallel()
	r := standing(t, pair)
	r.protect("false", "true")
	r.mustRun(0, "up", "--lab", "--yes")
	plain := r.plainEngine()
	_, err := plain.Refresh(t.Context(), optrefresh.ProgressStreams(io.Discard)) // which a destroy begins with
	require.NoError(t, err)
	seen, state := len(r.calls()), r.digests()

	output := r.mustRun(3, "destroy", "--lab", "--yes")
	require.Contains(t, output, r.stack+" is protected (command, k3s-dev, k3s-dev-bootstrap, ")
	require.Contains(t, output, "and nothing was touched: set protect: false in cluster.yaml and in nodes.yaml, run `em-infra up --stack "+r.stack+" --inventory ")
	_, err = plain.Destroy(t.Context(), optdestroy.ProgressStreams(io.Discard))
	require.ErrorContains(t, err, "because it is protected. To unprotect the resource, either remove the `protect` flag")
	require.Empty(t, writes(r.calls()[seen:]))
	require.Equal(t, state, r.digests())

	r.protect("true", "false")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Empty(t, writes(r.calls()[seen:]), "to protect and to release are nothing to the host")
	r.mustRun(0, "destroy", "--lab", "--yes")
	require.Empty(t, r.hostFiles().VMs)
}

func (r *rehearsal) protect(old, now string) {
	r.t.Helper()
	r.edit("cluster.yaml", "protect: "+old, "protect: "+now)
}
