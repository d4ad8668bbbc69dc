package model_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// born returns a cluster of a control plane and a worker with a data disk, and a correct state of it.
func born(t *testing.T) (model.Want, model.Seen) {
	t.Helper()
	want := model.Want{Site: site.New(site.Topology{ControlPlanes: 1, Workers: 1, Hosts: 1, DataDisks: true})}
	text, err := os.ReadFile(filepath.Join("testdata", "host.json"))
	require.NoError(t, err)
	host, err := model.ReadHost(text, map[int]bool{101: true, 111: true})
	require.NoError(t, err)
	want.Guarded = 2
	return want, model.Seen{
		Host: host, Guarded: 2,
		Nodes:   map[string]model.Node{"control-1": ready(), "worker-1": ready()},
		Members: []string{"control-1"}, Canaries: []string{"canary-1"},
	}
}

// ready is a Node as it should be.
func ready() model.Node { return model.Node{Ready: true, Talos: "v1.12.4", Kubelet: "v1.35.4"} }

// worker returns a break of the worker's Node.
func worker(breaks func(n *model.Node)) func(*model.Seen) {
	return func(s *model.Seen) {
		n := s.Nodes["worker-1"]
		breaks(&n)
		s.Nodes["worker-1"] = n
	}
}

// change breaks a world that is as it should be; says is the violation that the model then reports.
type change struct {
	breaks func(seen *model.Seen)
	says   string
}

// worlds are broken in one way each.
var worlds = map[string]change{
	"a machine is deleted":         {func(s *model.Seen) { s.Machines = slices.Delete(s.Machines, 1, 2) }, "whole: worker-1 has no machine"},
	"a machine more":               {func(s *model.Seen) { s.Machines = append(s.Machines, model.Machine{VMID: 999, Name: "x", Host: "h"}) }, "whole: VM 999 (x) is on h and in no inventory"},
	"a template is missing":        {func(s *model.Seen) { s.Machines[2].Template = false }, "whole: vmhost has no template 9000"},
	"a machine is off":             {func(s *model.Seen) { s.Machines[1].Running = false }, "whole: worker-1: runs is false, not true"},
	"a machine is locked":          {func(s *model.Seen) { s.Machines[1].Lock = "clone" }, `whole: worker-1: lock is clone, not `},
	"other memory":                 {func(s *model.Seen) { s.Machines[1].MemoryMiB = 1 }, "whole: worker-1: memory is 1, not 4096"},
	"other cores":                  {func(s *model.Seen) { s.Machines[1].Cores = 9 }, "whole: worker-1: cores is 9, not 2"},
	"another name":                 {func(s *model.Seen) { s.Machines[1].Name = "x" }, "whole: worker-1: name is x, not worker-1"},
	"another host":                 {func(s *model.Seen) { s.Machines[1].Host = "x" }, "whole: worker-1: host is x, not vmhost"},
	"does not start with its host": {func(s *model.Seen) { s.Machines[1].StartsWithHost = false }, "whole: worker-1: starts with its host is false, not true"},
	"a disk is missing":            {func(s *model.Seen) { s.Machines[1].Disks = s.Machines[1].Disks[:1] }, "whole: worker-1: disks in GiB is [32], not [32 10]"},
	"a card more":                  {func(s *model.Seen) { s.Machines[1].Cards = 2 }, "whole: worker-1: network cards is 2, not 1"},
	"a device is passed on":        {func(s *model.Seen) { s.Machines[1].PassedOn = 1 }, "whole: worker-1: devices of the host is 1, not 0"},
	"other tags":                   {func(s *model.Seen) { s.Machines[1].Tags = []string{"x"} }, "whole: worker-1: tags is x, not talos"},
	"a volume is left over":        {func(s *model.Seen) { s.Unused = []string{"tank:vm-7-disk-0 on vmhost"} }, "whole: volume tank:vm-7-disk-0 on vmhost belongs to no machine"},
	"something is under way":       {func(s *model.Seen) { s.Pending = []string{"creating x"} }, "whole: the state says that something is under way: creating x"},
	"a process is left over":       {func(s *model.Seen) { s.Running = []string{"pulumi up"} }, "whole: a process is left over: pulumi up"},
	"a configuration by hand": {func(s *model.Seen) {
		s.Settings = map[int]model.Settings{111: {Sysctls: map[string]string{"vm.overcommit_memory": "1"}}}
	}, `whole: worker-1: sysctl vm.overcommit_memory is "1", not ""`},
	"a rule by hand":       {func(s *model.Seen) { s.Settings = map[int]model.Settings{111: {Udev: []string{"x"}}} }, `whole: worker-1: udev has "x", not ""`},
	"Kubernetes is silent": {func(s *model.Seen) { s.Unreachable = "refused" }, "whole: Kubernetes does not answer: refused"},
	"a Node is missing":    {func(s *model.Seen) { delete(s.Nodes, "worker-1") }, "whole: worker-1 is no Node"},
	"a Node is not Ready":  {func(s *model.Seen) { s.Nodes["worker-1"] = model.Node{} }, "whole: worker-1 is not Ready"},
	"a Node is cordoned":   {worker(func(n *model.Node) { n.Cordoned = true }), "whole: worker-1 is cordoned: true, not false"},
	"a label is missing":   {worker(func(n *model.Node) { n.Label = "x" }), `whole: worker-1 has label "x", not ""`},
	"another Talos":        {worker(func(n *model.Node) { n.Talos = "v1.12.3" }), "whole: worker-1 runs Talos v1.12.3, not v1.12.4"},
	"another kubelet":      {worker(func(n *model.Node) { n.Kubelet = "v1.35.3" }), "whole: worker-1 has the kubelet of Kubernetes v1.35.3, not v1.35.4"},
	"a Node more":          {func(s *model.Seen) { s.Nodes["x"] = model.Node{} }, "whole: Node x is in no inventory"},
	"a pod is not back":    {func(s *model.Seen) { s.Guarded = 1 }, "whole: 1 of the 2 pods of the guarded Deployment are Ready"},
	"a member more":        {func(s *model.Seen) { s.Members = append(s.Members, "x") }, "whole: the members of etcd are control-1 x, not control-1"},
}

func TestEachBreakOfTheWorldIsFound(t *testing.T) {
	t.Parallel()
	want, seen := born(t)
	require.Empty(t, want.Whole(seen), "nothing is wrong with it")
	for name, test := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, seen := born(t)
			test.breaks(&seen)
			found := want.Whole(seen)
			require.Len(t, found, 1)
			require.Equal(t, test.says, found[0].String())
		})
	}
}

func TestNothingIsLeftOfWhatIsGone(t *testing.T) {
	t.Parallel()
	want, seen := born(t)
	want.Gone = true
	require.Len(t, want.Whole(seen), 3)
	seen.Machines = nil
	require.Empty(t, want.Whole(seen))
}

func TestEachLossIsFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]change{
		"a machine":     {func(s *model.Seen) { s.Machines = s.Machines[:1] }, "kept: VM 111 is lost, and no plan that was consented to named it"},
		"a data disk":   {func(s *model.Seen) { s.Machines[1].Disks[1].Identity = "x" }, "kept: the disk scsi1 of VM 111 is lost: the machine neither uses nor keeps it"},
		"a member":      {func(s *model.Seen) { s.Members = []string{"x"} }, "kept: etcd has lost the member control-1"},
		"what was told": {func(s *model.Seen) { s.Canaries = nil }, "kept: etcd has lost canary-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, seen := born(t)
			keeper := model.NewKeeper()
			keeper.Remember(seen)
			require.Empty(t, keeper.Lost(seen))
			_, broken := born(t)
			test.breaks(&broken)
			found := keeper.Lost(broken)
			require.Len(t, found, 1)
			require.Equal(t, test.says, found[0].String())
		})
	}
}

// TestWhatIsGivenUpMayBeLost: for a machine until it runs again, and for everything after a destroy.
func TestWhatIsGivenUpMayBeLost(t *testing.T) {
	t.Parallel()
	_, seen := born(t)
	_, less := born(t)
	less.Machines = less.Machines[:1]
	keeper := model.NewKeeper()
	keeper.Remember(seen)
	keeper.GiveUp(111)
	require.Empty(t, keeper.Lost(less))
	keeper.Remember(seen)
	require.Len(t, keeper.Lost(less), 1, "it ran again since")
	keeper.GiveUpAll()
	require.Empty(t, keeper.Lost(model.Seen{Members: []string{"x"}}))
	_, never := born(t)
	never.Machines[1].Running = false
	keeper.Remember(never)
	require.Empty(t, keeper.Lost(less), "a machine that never ran has nothing to lose")
}

func TestAHostInAnotherFormIsNotRead(t *testing.T) {
	t.Parallel()
	_, err := model.ReadHost([]byte(`{"state":{"vms":{"101":{"id":101}}}}`), nil)
	require.ErrorContains(t, err, "the host's state has VM 101 in a form that is not known here")
	_, err = model.ReadHost([]byte("{"), nil)
	require.ErrorContains(t, err, "the host's state: ")
}

func TestControlPlanesGoDownOneAtATime(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Date(2026, 11, 22, 12, 0, second, 0, time.UTC) }
	three := []int{101, 102, 103}
	require.Empty(t, model.Overlap(three, []model.Outage{{101, at(1), at(2)}, {102, at(2), at(3)}, {103, at(5), time.Time{}}}))
	require.Empty(t, model.Overlap(three, []model.Outage{{101, at(1), at(9)}, {111, at(2), at(3)}, {101, at(9), at(10)}}))
	found := model.Overlap(three, []model.Outage{{101, at(1), at(5)}, {102, at(4), at(8)}})
	require.Len(t, found, 1)
	require.Equal(t, "one at a time: VM 102 went down at Nov 22 12:00:04.000 while VM 101 was down since Nov 22 12:00:01.000", found[0].String())
	require.Len(t, model.Overlap(three, []model.Outage{{101, at(1), time.Time{}}, {102, at(40), at(41)}}), 1, "it has not come back")
}

func TestRunsAreJudged(t *testing.T) {
	t.Parallel()
	write := []string{"POST /nodes/vmhost/qemu/101/status/stop"}
	for name, test := range map[string]struct {
		run  model.Run
		says string // its beginning; "" for no violation
	}{
		"ends well":                 {model.Run{What: "up", Writes: write}, ""},
		"finds changes":             {model.Run{What: "preview", Code: 2}, ""},
		"is refused":                {model.Run{What: "up", Code: 3, Output: "set it back", Excused: true}, ""},
		"a refusal that touches":    {model.Run{What: "up", Code: 3, Writes: write, Output: "set it back"}, "refusals: up was refused, and called POST"},
		"a site of which one is up": {model.Run{What: "site-up", Code: 3, Writes: write, Output: "site  hosts  up\ndns  systems  refused\nset it back", Excused: true}, ""},
		"a site of which none is":   {model.Run{What: "site-up", Code: 3, Writes: write, Output: "site  hosts  refused\nset it back", Excused: true}, "refusals: site-up was refused, and called POST"},
		"a preview that touches":    {model.Run{What: "preview", Writes: write}, "refusals: preview only reads, and called POST"},
		"a mistake that passes":     {model.Run{What: "mistake"}, "refusals: a mistake was not refused, but ended with exit code 0"},
		"a mistake that is refused": {model.Run{What: "mistake", Code: 3}, ""},
		"a mistake that touches":    {model.Run{What: "mistake", Code: 3, Writes: write}, "refusals: mistake was refused, and called POST"},
		"fails for no reason":       {model.Run{What: "up", Code: 1, Output: "run up again"}, "refusals: up failed with exit code 1, and nothing was in its way"},
		"fails under a fault":       {model.Run{What: "up", Code: 1, Output: "run up again", Excused: true}, ""},
		"fails without a word":      {model.Run{What: "up", Code: 1, Output: "error", Excused: true}, "refusals: up failed and does not say what to do"},
		"panics":                    {model.Run{What: "up", Code: 2, Output: "goroutine 1 [running]", Excused: true}, "refusals: up panicked"},
		"ends like nothing else":    {model.Run{What: "up", Code: 255, Excused: true}, "refusals: up ended with exit code 255"},
		"is killed":                 {model.Run{What: "up", Code: -1, Writes: write, Killed: true}, ""},
		"goes on and on":            {model.Run{What: "up", Took: time.Hour}, "bounds: up took 1h0m0s"},
	} {
		found := model.Judge(test.run)
		if test.says == "" {
			require.Empty(t, found, name)
			continue
		}
		require.Len(t, found, 1, name)
		require.Contains(t, found[0].String(), test.says, name)
	}
}

func TestSecretsAreFoundInEveryForm(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN KEY-----\nmade up for this test\n-----END KEY-----\n"
	secrets := []string{base64.StdEncoding.EncodeToString([]byte(key)), `a "quoted" token`, "short"}
	for text, leaks := range map[string]bool{
		"nothing of that kind, but short": false,
		"key: " + secrets[0]:              true,
		"file:\n" + key:                   true,
		`{"token":"a \"quoted\" token"}`:  true,
		`token: a "quoted" token`:         true,
	} {
		found := model.Leaks(secrets, map[string]string{"artifact": text})
		require.Len(t, found, map[bool]int{true: 1}[leaks], "once for each secret: %s", text)
		for _, violation := range found {
			require.Contains(t, violation.String(), "secrets: artifact holds a secret of ")
			require.NotContains(t, violation.String(), "made up")
		}
	}
}
