package components_test

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"path/filepath"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// updateKubernetes calls the hook before an update of the version of Kubernetes, and returns its refusal.
func (e *hookEngine) updateKubernetes(t *testing.T, before, after string) string {
	t.Helper()
	request := &pulumirpc.ResourceHookRequest{Name: "k3s-dev-kubernetes", Type: "command:local:Command"}
	inputs := func(update string) *structpb.Struct {
		made, err := structpb.NewStruct(map[string]any{"create": "true", "update": update})
		require.NoError(t, err)
		return made
	}
	request.OldInputs, request.NewInputs = inputs(before), inputs(after)
	var answer pulumirpc.ResourceHookResponse
	e.call(t, "k3s-dev-kubernetes-upgrade", request, &answer)
	return answer.GetError()
}

// TestTheVersionOfKubernetesIsUpgradedByItsHook, with the nodes and the credentials of this run, and for another version only.
func TestTheVersionOfKubernetesIsUpgradedByItsHook(t *testing.T) {
	t.Parallel()

	var upgrades []components.KubernetesUpgrade
	e := runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) {
		args.Machines[0], args.Machines[1] = args.Machines[1], args.Machines[0]
		args.Runs = func(context.Context, int) (bool, error) { return false, nil }
		args.UpgradeKubernetes = func(_ context.Context, upgrade components.KubernetesUpgrade) error {
			upgrades = append(upgrades, upgrade)
			_, err := io.WriteString(upgrade.Progress, "a line\n")
			return errors.Join(err, errors.New("one of them does not answer: mend it, then run up again"))
		}
	}))
	require.Empty(t, e.updateKubernetes(t, "true kubernetes v1.35.4", "true kubernetes v1.35.4"))
	require.Empty(t, upgrades)
	require.Equal(t, "one of them does not answer: mend it, then run up again", e.updateKubernetes(t, "true kubernetes v1.35.4", "true kubernetes v1.36.2"))
	require.Equal(t, "one of them does not answer: mend it, then run up again", e.updateKubernetes(t, "of another form", "true kubernetes v1.36.2"), "the lane is free again")
	require.Len(t, upgrades, 2)
	require.Equal(t, "v1.36.2", upgrades[0].To)
	require.Equal(t, []string{"k3s-dev-control-1", "k3s-dev-worker-1"}, []string{upgrades[0].Nodes[0].Name, upgrades[0].Nodes[1].Name}, "control planes first")
	require.Contains(t, string(upgrades[0].Talosconfig), "context: k3s-dev")
}

// TestTheToolUpgradesKubernetes with the credentials in its environment, and reports the end of its errors.
func TestTheToolUpgradesKubernetes(t *testing.T) {
	t.Parallel()

	tool := filepath.Join(t.TempDir(), "em-infra")
	script := `echo "$* with $EM_INFRA_TALOSCONFIG"
[ "$3" = --to ] && [ "$4" = v1.36.2 ] && exit
echo "--to: no version" >&2
exit 3
`
	executabletest.Script(t, tool, script)
	upgrade := components.KubernetesUpgrade{To: "v1.36.2", Talosconfig: []byte("credentials")}
	upgrade.Nodes = clusterNodes()
	var output lines
	upgrade.Progress = &output
	environment := map[string]string{"EM_INFRA": tool}
	require.NoError(t, components.UpgradeKubernetesByTool(t.Context(), upgrade, t.TempDir(), environment))
	require.Equal(t, "cluster upgrade-kubernetes --to v1.36.2 --control-plane control-1=192.168.20.11 --worker worker-1=192.168.20.21 with credentials\n", string(output))

	upgrade.To = "v1"
	require.EqualError(t, components.UpgradeKubernetesByTool(t.Context(), upgrade, t.TempDir(), environment), "--to: no version")
}

// TestAnInterruptEndsTheTool gently.
func TestAnInterruptEndsTheTool(t *testing.T) {
	t.Parallel()

	tool := filepath.Join(t.TempDir(), "em-infra")
	script := `trap 'echo "the upgrade was interrupted: run up again" >&2; exit 1' INT
echo begun
while :; do sleep 0.1; done
`
	executabletest.Script(t, tool, script)
	ctx, interrupt := context.WithCancel(t.Context())
	begun := writerFunc(func([]byte) { interrupt() })
	err := components.ToolRun{Command: "cluster upgrade-kubernetes", Env: map[string]string{"EM_INFRA": tool}, Stdout: begun}.Do(ctx)
	require.EqualError(t, err, "the upgrade was interrupted: run up again")
}

// lines is what was written.
type lines []byte

func (l *lines) Write(text []byte) (int, error) {
	*l = append(*l, text...)
	return len(text), nil
}

// writerFunc is called for each write.
type writerFunc func([]byte)

func (w writerFunc) Write(text []byte) (int, error) {
	w(text)
	return len(text), nil
}

func clusterNodes() []rolling.Node {
	return []rolling.Node{
		{Name: "control-1", Address: netip.MustParseAddr("192.168.20.11"), ControlPlane: true},
		{Name: "worker-1", Address: netip.MustParseAddr("192.168.20.21")},
	}
}
