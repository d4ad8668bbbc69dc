package e2e_test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"
)

var (
	foreignMachine = regexp.MustCompile(`where that is VM ([0-9]+) itself`)
	silentNode     = regexp.MustCompile(`nothing answers at [0-9.]+\.([0-9]+):`)
	hangingNode    = regexp.MustCompile(`node [0-9.]+\.([0-9]+): it has its configuration and has been in maintenance mode for [0-9]+ s: [^:]+: reset its VM`)
	hangingTask    = regexp.MustCompile(`qmclone on vmhost since [\d:]+, silent for 1 min; to stop it:\n +em-infra (task stop \S+) `)
	joinAnew       = regexp.MustCompile("`talosctl --nodes ([0-9.]+) reset --system-labels-to-wipe EPHEMERAL --reboot`")
)

// deletesTheMachine is the user's action if a machine has the disk of another cluster that is no longer needed.
func deletesTheMachine(r *rehearsal, first result) {
	r.t.Helper()
	named := foreignMachine.FindAllStringSubmatch(first.output, -1)
	require.NotEmpty(r.t, named)
	for _, machine := range named {
		vmid, err := strconv.Atoi(machine[1])
		require.NoError(r.t, err)
		r.power(false, vmid)
		r.mustRun(0, "lab", "destroy", machine[1])
	}
}

// resetsTheSilentMachines is the user's action if the consoles of machines show that they hang.
func resetsTheSilentMachines(r *rehearsal, first result) {
	r.t.Helper()
	r.resetVMs(silentNode.FindAllStringSubmatch(first.output, -1))
}

// resetsTheMachines is the user's action if machines do not leave maintenance mode.
func resetsTheMachines(r *rehearsal, first result) {
	r.t.Helper()
	r.resetVMs(hangingNode.FindAllStringSubmatch(first.output, -1))
}

// resetVMs resets the machines of nodes that were found by the ends of their addresses.
func (r *rehearsal) resetVMs(nodes [][]string) {
	r.t.Helper()
	require.NotEmpty(r.t, nodes)
	for _, node := range nodes {
		r.mustRun(0, "lab", "reset", map[string]string{"11": "101", "21": "102"}[node[1]])
	}
}

// stopsTheTasks stops each clone that the run names, with the command for it, until the run ends. The provider repeats a
// stopped clone, and the next one may hang, too.
func stopsTheTasks(r *rehearsal, up *started) {
	r.t.Helper()
	done, stopped := 0, 0
	for ended := false; !ended; {
		select {
		case <-up.ended:
			ended = true
		case <-time.After(100 * time.Millisecond):
		}
		named := hangingTask.FindAllStringSubmatch(up.output(), -1)
		for ; done < len(named) && !ended; done++ {
			stop := r.run(append(strings.Fields(named[done][1]), "--lab", "--yes")...)
			if stop.code != 0 { // it was named a second time before its end was seen
				require.Contains(r.t, stop.output, "no task ")
				continue
			}
			stopped++
		}
	}
	require.NotZero(r.t, stopped, "no task that hangs is named in:\n%s", up.output())
}

// joinsAnew does the same as the talosctl command in the message.
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

// freesTheDatabases is the user's action if etcd is out of space.
func freesTheDatabases(r *rehearsal, _ result) {
	r.t.Helper()
	r.mustRun(0, "etcd", "defragment", "--lab")
	r.eventually("Kubernetes goes on", func() bool { return r.run("status", "--lab").code == 0 })
}

// joinsWithoutItsData has the member with corrupt data join anew, as `em-infra etcd disarm` says, and ends the alarm.
func joinsWithoutItsData(r *rehearsal, _ result) {
	r.t.Helper()
	named := r.run("etcd", "disarm", "--lab")
	require.Equal(r.t, 1, named.code, named.output)
	require.Contains(r.t, named.output, "the data of etcd on k3s-dev-control-2 differ from those of the others")
	joinsAnew(r, named)
	r.eventually("the member with corrupt data is gone", func() bool { return r.run("etcd", "disarm", "--lab").code == 0 })
}

// keepsASnapshot takes a snapshot of etcd before something happens to its data.
func keepsASnapshot(r *rehearsal) {
	r.t.Helper()
	r.mustRun(0, "etcd", "snapshot", "--lab")
}

// putsTheSnapshotBack is the user's action if the only copy of the data of etcd is corrupt.
func putsTheSnapshotBack(r *rehearsal, _ result) {
	r.t.Helper()
	require.Contains(r.t, r.mustRun(3, "etcd", "restore", "--lab", "--yes"), "the data of etcd on k3s-dev-control-1 differ from those of the others")
	list := r.mustRun(0, "etcd", "list", "--lab")
	name := regexp.MustCompile(`[0-9T-]+-by-hand`).FindString(list)
	require.NotEmpty(r.t, name, list)
	r.mustRun(0, "etcd", "restore", "--lab", "--yes", "--from", name, "--allow-replace", "k3s-dev-control-1")
}
