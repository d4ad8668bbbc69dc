package tasks_test

import (
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/progress"
	"github.com/em-infra/em-infra/operator/internal/tasks"
)

var cloning = pve.Task{
	UPID: "UPID:vmhost:0001:0002:0003:qmclone:9000:em-infra@pve!x:", Node: "vmhost", Type: "qmclone", VMID: 9000,
	Since: time.Date(2026, 11, 22, 8, 12, 5, 0, time.Local),
	Log:   []string{"1", "2", "create full clone of drive efidisk0 (tank:base-9000-disk-0)", "4", "5", "6"},
}

// TestAWaitForATaskIsALine that fits into a terminal, with the command to stop the task once it is silent.
func TestAWaitForATaskIsALine(t *testing.T) {
	t.Parallel()
	follow := tasks.NewFollower(pve.Reader{}, "--stack k3s-dev --lab")
	now := cloning.Since.Add(10 * time.Second)
	task := cloning
	task.Log = cloning.Log[:3]
	require.Equal(t, progress.Wait{For: "qmclone on vmhost since 08:12:05: create full clone of drive efi"}, follow.Wait(task, task.UPID, now))
	require.Equal(t, progress.Wait{For: "qmclone on vmhost since 08:12:05: create full clone of drive efi"}, follow.Wait(task, task.UPID, now.Add(59*time.Second)))
	require.Equal(t, progress.Wait{For: "qmclone on vmhost since 08:12:05, silent for 1 min; to stop it:", Command: "task stop " + task.UPID + " --stack k3s-dev --lab"}, follow.Wait(task, task.UPID, now.Add(119*time.Second)))
	require.Equal(t, progress.Wait{For: "qmclone on vmhost since 08:12:05: 6"}, follow.Wait(cloning, cloning.UPID, now.Add(3*time.Minute)), "it writes again")
	task.UPID, task.Log = "another", nil
	require.Equal(t, progress.Wait{For: "qmclone on vmhost since 08:12:05"}, follow.Wait(task, task.UPID, now))
}

// TestTheTaskOfAMachine: the command stops the task that is shown, also if another clone begins before it is typed.
func TestTheTaskOfAMachine(t *testing.T) {
	t.Parallel()
	second, start := cloning, pve.Task{UPID: "UPID:start", Type: "qmstart", VMID: 102}
	second.UPID = "UPID:vmhost:0000:0002:0003:qmclone:9000:em-infra@pve!x:"
	for _, test := range []struct {
		name  string
		tasks []pve.Task
		shown map[string]bool
		task  pve.Task
		which string
	}{
		{"a clone alone", []pve.Task{cloning}, nil, cloning, cloning.UPID},
		{"one of its own", []pve.Task{cloning, second, start}, nil, start, "102"},
		{"the first of two clones", []pve.Task{cloning, second}, nil, second, second.UPID},
		{"the other one beside the next machine", []pve.Task{cloning, second}, map[string]bool{second.UPID: true}, cloning, cloning.UPID},
		{"more machines than clones", []pve.Task{cloning, second}, map[string]bool{second.UPID: true, cloning.UPID: true}, second, second.UPID},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			task, which := tasks.Of(102, test.tasks, test.shown)
			require.Equal(t, test.task, task)
			require.Equal(t, test.which, which)
		})
	}
}

func TestTheHostThatWorksOnAMachine(t *testing.T) {
	t.Parallel()
	const vm, other = "proxmoxve:VM/virtualMachine:VirtualMachine", "talos:machine/bootstrap:Bootstrap"
	for _, test := range []struct {
		kind   string
		inputs map[string]any
		host   string
		vmid   int
	}{
		{vm, map[string]any{"nodeName": "pve2", "vmId": 102.0, "clone": map[string]any{"nodeName": "pve1", "vmId": 9000.0}}, "pve1", 102},
		{vm, map[string]any{"nodeName": "pve2", "vmId": 9000.0}, "pve2", 9000},
		{vm, map[string]any{"nodeName": "pve2"}, "pve2", 0},
		{other, map[string]any{"nodeName": "pve2", "vmId": 102.0}, "", 0},
	} {
		urn := resource.URN("urn:pulumi:k3s-dev::em-infra::" + test.kind + "::k3s-dev-worker-1-vm")
		host, vmid := tasks.MachineOf(progress.Work{URN: urn, Inputs: test.inputs})
		require.Equal(t, test.host, host)
		require.Equal(t, test.vmid, vmid)
	}
}
