package operator_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// otherLab is a lab without the network of the cluster that asks for it.
type otherLab struct{ labs }

func (otherLab) Find(operator.Site) (operator.LabHost, bool, error) {
	none := func(netip.Prefix) (netip.Prefix, error) {
		return netip.Prefix{}, errors.New("the lab has no network for it")
	}
	return operator.LabHost{NetworkOf: none}, true, nil
}

// TestAStackWhoseLabHasNotItsNetworkIsOnThePage: with the reason, and with its own addresses. The other stacks are on it as ever.
func TestAStackWhoseLabHasNotItsNetworkIsOnThePage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	inventory, err := filepath.Abs("../stacks/k3s-dev")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.k3s-dev.yaml"), []byte("config: {}\n"), 0o600))
	work := &workspace.Workspace{Stack: "k3s-dev", Root: root, Dir: root, Inventory: inventory, Artifacts: filepath.Join(root, "artifacts"), Rehearsed: true}

	var report operator.SiteReport
	require.NoError(t, report.Add(t.Context(), operator.In(operator.Options{Stack: "k3s-dev", Lab: otherLab{}}, work, new(recordedEvents), time.Now)))
	text, err := report.HTML()
	require.NoError(t, err)
	require.Contains(t, string(text), "it does not run")
	require.Contains(t, string(text), "192.168.20.11")
}
