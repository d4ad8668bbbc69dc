package risk_test

import (
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

// gone returns the events of a node whose machine was deleted on the host: the component is there, and the configuration.
func gone(name, role string, vmid int) []event {
	events := node(name, role, vmid, apitype.OpCreate, nil)
	events[0].op = apitype.OpSame
	return append(events, event{
		op: apitype.OpUpdate, kind: token.Configuration, name: "lab-" + name + "-configuration", parent: urn(token.TalosNode, "lab-"+name),
		changed: []string{"machineConfigurationInput"},
	})
}

// configured returns the events of a node with which nothing happens.
func configured(name, role string, vmid int) []event {
	return append(same(name, role, vmid), event{op: apitype.OpSame, kind: token.Configuration, name: "lab-" + name + "-configuration", parent: urn(token.TalosNode, "lab-"+name)})
}

var bootstrapped = []event{{op: apitype.OpSame, kind: token.Bootstrap, name: "lab-bootstrap"}}

func TestTheOnlyControlPlaneWasDeleted(t *testing.T) {
	t.Parallel()
	a := assess(slices.Concat(gone("cp-1", "control-plane", 101), configured("w-1", "worker", 111), bootstrapped)...)
	require.Equal(t, ` CREATE   cp-1  VM 101 on vmhost, 192.168.20.11; it was deleted on the host: it is created again and joins again
          what was on its disks is lost
          this is the only control plane: the cluster is lost; an empty one is created with the same keys, and the addons are installed again
`, written(t, a))
	require.Equal(t, []string{"cp-1"}, a.Lost)
	require.Equal(t, "refused: say --allow-replace cp-1 to go on, or bring etcd back from a snapshot with `em-infra etcd restore`, or restore the VM of cp-1 from a backup", a.Refusal(nil))
	require.Empty(t, a.Refusal([]risk.Permission{{Flag: risk.FlagReplace, Subject: "cp-1"}}))
}

func TestAClusterThatWasNeverBootstrappedHasNothingToLose(t *testing.T) {
	t.Parallel()
	a := assess(append(gone("cp-1", "control-plane", 101), event{op: apitype.OpCreate, kind: token.Bootstrap, name: "lab-bootstrap"})...)
	require.Empty(t, a.Lost)
	require.Empty(t, a.Refusal(nil))
}

func TestMostControlPlanesWereLost(t *testing.T) {
	t.Parallel()
	given := []risk.Permission{{Flag: risk.FlagReplace, Subject: "cp-1"}, {Flag: risk.FlagReplace, Subject: "cp-2"}}
	a := assessWith(risk.Seen{Unconfigured: []string{"cp-2"}}, slices.Concat(gone("cp-1", "control-plane", 101), configured("cp-2", "control-plane", 102), configured("cp-3", "control-plane", 103), bootstrapped)...)
	require.Equal(t, ` CANNOT   cp-1  VM 101 on vmhost, 192.168.20.11; it was deleted on the host: it is created again and joins again
          what was on its disks is lost
          2 of 3 control planes are gone: etcd has no quorum, and no member can join
 CANNOT   cp-2  it is in maintenance mode, because it was reset or created again by hand: it is configured and joins again
          2 of 3 control planes are gone: etcd has no quorum, and no member can join
`, written(t, a))
	require.Empty(t, a.Lost, "one of them has the data")
	require.Equal(t, "refused: bring etcd back from a snapshot with `em-infra etcd restore`, or restore the VM of cp-1 from a backup, or restore the VM of cp-2 from a backup", a.Refusal(given))
}

func TestAllControlPlanesWereLost(t *testing.T) {
	t.Parallel()
	a := assessWith(risk.Seen{Unconfigured: []string{"cp-2"}}, slices.Concat(
		gone("cp-1", "control-plane", 101), configured("cp-2", "control-plane", 102), gone("cp-3", "control-plane", 103), bootstrapped)...)
	require.Equal(t, []string{"cp-1", "cp-2", "cp-3"}, a.Lost)
	require.Equal(t, "refused: say --allow-replace cp-1 --allow-replace cp-2 --allow-replace cp-3 to go on,"+
		" or bring etcd back from a snapshot with `em-infra etcd restore`, or restore the VM of cp-1 from a backup, or restore the VM of cp-2 from a backup, or restore the VM of cp-3 from a backup", a.Refusal(nil))
}

func TestANodeThatWasReset(t *testing.T) {
	t.Parallel()
	events := slices.Concat(configured("cp-1", "control-plane", 101), configured("w-1", "worker", 111), bootstrapped)
	require.Equal(t, " CHANGE   w-1  it is in maintenance mode, because it was reset or created again by hand: it is configured and joins again\n",
		written(t, assessWith(risk.Seen{Unconfigured: []string{"w-1"}}, events...)))
	require.Equal(t, "nothing would change\n", written(t, assess(events...)))

	replaced := slices.Concat(configured("cp-1", "control-plane", 101), node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"memory": map[string]any{"dedicated": 16384.0}}, "memory.dedicated"),
		[]event{configured("w-1", "worker", 111)[2]}, bootstrapped)
	require.Equal(t, ` REBOOT   w-1  memory 8192 → 16384 MiB; it is in maintenance mode, because it was reset or created again by hand: it is configured and joins again
          drained, reboots, about 1 min
`, written(t, assessWith(risk.Seen{Unconfigured: []string{"w-1"}}, replaced...)))
}

// TestARestoreOfEtcd: machines that are gone need no consent, since nothing is left to lose; data that is deleted does.
func TestARestoreOfEtcd(t *testing.T) {
	t.Parallel()
	restore := &risk.Restore{Snapshot: "2026-11-20T22-15-00-by-hand", Revision: 812, On: "cp-1"}
	a := assessWith(risk.Seen{Restore: restore}, slices.Concat(gone("cp-1", "control-plane", 101), gone("cp-2", "control-plane", 102), configured("w-1", "worker", 111), bootstrapped)...)
	require.Equal(t, ` CREATE   cp-1  VM 101 on vmhost, 192.168.20.11; it was deleted on the host: it is created again and joins again
          what was on its disks is lost
          etcd starts on it from the snapshot
 CREATE   cp-2  VM 102 on vmhost, 192.168.20.12; it was deleted on the host: it is created again and joins again
          what was on its disks is lost
          it joins the restored etcd
etcd is restored from 2026-11-20T22-15-00-by-hand: what was written after revision 812 is lost
`, written(t, a))
	require.Empty(t, a.Lost, "the addons stay in the state")
	require.Empty(t, a.Refusal(nil))

	restore.Emptied = []string{"cp-1"}
	a = assessWith(risk.Seen{Restore: restore}, slices.Concat(configured("cp-1", "control-plane", 101), gone("cp-2", "control-plane", 102), bootstrapped)...)
	require.Equal(t, ` CHANGE   cp-1  its data of etcd is deleted, and it reboots
          etcd starts on it from the snapshot
 CREATE   cp-2  VM 102 on vmhost, 192.168.20.12; it was deleted on the host: it is created again and joins again
          what was on its disks is lost
          it joins the restored etcd
etcd is restored from 2026-11-20T22-15-00-by-hand: what was written after revision 812 is lost
`, written(t, a))
	require.Equal(t, "refused: say --allow-replace cp-1 to go on", a.Refusal(nil))
}
