package e2e_test

import (
	"path/filepath"
	"regexp"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"
)

var (
	foreignMachine = regexp.MustCompile(`where that is VM ([0-9]+) itself`)
	joinAnew       = regexp.MustCompile("`talosctl --nodes ([0-9.]+) reset --system-labels-to-wipe EPHEMERAL --reboot`")
)

// deletesTheMachine is what a person does whose machine has the disk of another cluster that nobody needs.
func deletesTheMachine(r *rehearsal, first result) {
	r.t.Helper()
	named := foreignMachine.FindAllStringSubmatch(first.output, -1)
	require.NotEmpty(r.t, named)
	for _, machine := range named {
		r.mustRun(0, "lab", "destroy", machine[1])
	}
}

// joinsAnew does what talosctl does when it is called as the message says.
func joinsAnew(r *rehearsal, first result) {
	r.t.Helper()
	named := joinAnew.FindAllStringSubmatch(first.output, -1)
	require.NotEmpty(r.t, named)
	api, err := client.New(r.t.Context(), client.WithConfigFromFile(filepath.Join(r.dir(), "talosconfig")))
	require.NoError(r.t, err)
	for _, node := range named {
		require.NoError(r.t, api.ResetGeneric(client.WithNode(r.t.Context(), node[1]), &machine.ResetRequest{
			Graceful: true, Reboot: true,
			SystemPartitionsToWipe: []*machine.ResetPartitionSpec{{Label: "EPHEMERAL", Wipe: true}},
		}))
	}
	require.NoError(r.t, api.Close())
}
