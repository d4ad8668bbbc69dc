package birth_test

import (
	"encoding/json"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/birth"
)

func worker(name string, vmid int, address string) birth.Machine {
	return birth.Machine{Name: name, VMID: vmid, Addresses: []string{address}}
}

func controlPlane(name string, vmid int, address string) birth.Machine {
	m := worker(name, vmid, address)
	m.ControlPlane = true
	return m
}

func members(machines ...birth.Machine) []birth.Standing {
	var standing []birth.Standing
	for _, m := range machines {
		standing = append(standing, birth.Standing{Machine: m, Member: true})
	}
	return standing
}

func TestFactsAreReadAsTheyWereKept(t *testing.T) {
	t.Parallel()

	facts := birth.Facts{
		Contract: "v1.12", PodSubnets: []string{"10.244.0.0/16"}, ServiceSubnets: []string{"10.96.0.0/12"}, CNI: "flannel",
		Machines: []birth.Machine{controlPlane("control-1", 101, "192.168.20.11"), worker("worker-1", 102, "192.168.20.21")},
	}
	text, err := json.Marshal(facts.Values())
	require.NoError(t, err)
	var kept map[string]any
	require.NoError(t, json.Unmarshal(text, &kept))
	require.Equal(t, facts, birth.ReadFacts(kept))
	require.Equal(t, birth.Facts{Contract: "v1.12"}, birth.ReadFacts(map[string]any{"contract": "v1.12", "machines": 3.0}))
}

func TestFormerNames(t *testing.T) {
	t.Parallel()

	control, first, second := controlPlane("control-1", 101, "192.168.20.11"), worker("worker-1", 102, "192.168.20.21"), worker("worker-2", 103, "192.168.20.22")
	standing := members(control, first, second)
	for name, test := range map[string]struct {
		standing []birth.Standing
		wanted   []birth.Machine
		former   map[string]string
		err      string
	}{
		"as it is":                          {standing, []birth.Machine{control, first, second}, map[string]string{}, ""},
		"one more":                          {standing, []birth.Machine{control, first, second, worker("worker-3", 104, "192.168.20.23")}, map[string]string{}, ""},
		"one less":                          {standing, []birth.Machine{control, first}, map[string]string{}, ""},
		"another address":                   {standing, []birth.Machine{control, worker("worker-1", 102, "192.168.20.29"), second}, map[string]string{}, ""},
		"another name":                      {standing, []birth.Machine{control, worker("blue", 102, "192.168.20.21"), second}, map[string]string{"blue": "worker-1"}, ""},
		"name and VMID":                     {standing, []birth.Machine{control, worker("blue", 109, "192.168.20.21"), second}, map[string]string{"blue": "worker-1"}, ""},
		"name and address":                  {standing, []birth.Machine{control, worker("blue", 102, "192.168.20.29"), second}, map[string]string{"blue": "worker-1"}, ""},
		"another altogether":                {standing, []birth.Machine{control, worker("blue", 109, "192.168.20.29"), second}, map[string]string{}, ""},
		"control plane renamed":             {standing, []birth.Machine{controlPlane("cp", 101, "192.168.20.11"), first, second}, map[string]string{"cp": "control-1"}, ""},
		"control plane's VMID for a worker": {standing, []birth.Machine{worker("w", 101, "192.168.20.29"), first, second}, map[string]string{"w": "control-1"}, ""},
		"control plane renamed that never joined": {
			[]birth.Standing{{Machine: control}}, []birth.Machine{controlPlane("cp", 101, "192.168.20.11")}, map[string]string{"cp": "control-1"}, "",
		},
		"address of one that stays": {
			standing, []birth.Machine{control, worker("worker-1", 102, "192.168.20.22"), worker("worker-2", 103, "192.168.20.29")}, map[string]string{},
			"worker-1 would get the address 192.168.20.22 of worker-2 before that machine is gone: change or remove worker-2 first, run up, then change worker-1; nothing was touched",
		},
		"address of one that goes": {
			standing, []birth.Machine{control, worker("worker-1", 102, "192.168.20.22")}, map[string]string{},
			"worker-1 would get the address 192.168.20.22 of worker-2 before that machine is gone: change or remove worker-2 first, run up, then change worker-1; nothing was touched",
		},
		"two at once": {
			standing, []birth.Machine{control, worker("blue", 102, "192.168.20.22")}, map[string]string{"blue": "worker-1"},
			"blue would get the address 192.168.20.22 of worker-2 before that machine is gone: change or remove worker-2 first, run up, then change blue; nothing was touched",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			former, err := birth.FormerNames(test.standing, test.wanted)
			require.Equal(t, test.former, former)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestMachinesInAState(t *testing.T) {
	t.Parallel()

	urn := func(kind tokens.Type, name string) resource.URN {
		return resource.NewURN("k3s-dev", "em-infra", "", kind, name)
	}
	node := func(name, role string) apitype.ResourceV3 {
		return apitype.ResourceV3{URN: urn("em-infra:index:TalosNode", name), Type: "em-infra:index:TalosNode", Inputs: map[string]any{"role": role}}
	}
	vm := func(name string, vmid int, trigger any) apitype.ResourceV3 {
		const kind = "proxmoxve:VM/virtualMachine:VirtualMachine"
		return apitype.ResourceV3{
			URN: urn(kind, name+"-vm"), Type: kind, Parent: urn("em-infra:index:TalosNode", name), ReplacementTrigger: trigger,
			Inputs: map[string]any{"vmId": float64(vmid), "name": "renamed by hand", "initialization": map[string]any{
				"ipConfigs": []any{map[string]any{"ipv4": map[string]any{"address": "192.168.20.99/24"}, "ipv6": map[string]any{"address": "fd00:20::99/64"}}},
			}},
		}
	}
	template := vm("template", 9000, nil)
	template.Parent = urn("em-infra:index:TalosTemplate", "template")
	gone := vm("k3s-dev-gone", 109, nil)
	gone.Delete = true
	deployment := apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		template, node("k3s-dev-control-1", "control-plane"), vm("k3s-dev-control-1", 101, nil), node("k3s-dev-gone", "worker"), gone,
		node("k3s-dev-worker-1", "worker"), vm("k3s-dev-worker-1", 102, worker("worker-1", 102, "192.168.20.21").Values()),
		{URN: urn("command:local:Command", "k3s-dev-worker-1-membership"), Type: "command:local:Command"},
	}}
	first := birth.Standing{Machine: controlPlane("k3s-dev-control-1", 101, "192.168.20.99"), Unrecorded: true}
	first.Addresses = append(first.Addresses, "fd00:20::99")
	require.Equal(t, []birth.Standing{first, {Machine: worker("k3s-dev-worker-1", 102, "192.168.20.21"), Born: "worker-1", Member: true}}, birth.InState(deployment),
		"the facts of birth count, not later changes by hand; a machine of an earlier version is identified by its cloud-init drive")
}
