package proxmox_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBridges follows a bridge and a VLAN in the calls that the provider makes.
func TestBridges(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.ok(http.MethodPost, "/nodes/vmhost/network", url.Values{
		"iface": {"vmbr1"}, "type": {"bridge"}, "autostart": {"1"}, "cidr": {"10.1.0.1/24"}, "comments": {"k8s"},
		"bridge_vlan_aware": {"1"}, "mtu": {"9000"},
	}, nil)
	l.ok(http.MethodPost, "/nodes/vmhost/network", values("iface=eno1.20 type=vlan"), nil)

	var bridge map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/network/vmbr1", nil, &bridge)
	require.Equal(t, map[string]any{
		"iface": "vmbr1", "type": "bridge", "autostart": 1.0, "cidr": "10.1.0.1/24", "address": "10.1.0.1",
		"netmask": "24", "comments": "k8s", "bridge_vlan_aware": 1.0, "mtu": "9000", "method": "static",
		"method6": "manual", "families": []any{"inet"}, "priority": 0.0, "active": 1.0,
	}, bridge)

	var vlan map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/network/eno1.20", nil, &vlan)
	require.Equal(t, "20", vlan["vlan-id"], "from its name; text, as the provider reads it")
	require.Equal(t, "eno1", vlan["vlan-raw-device"])

	// A change has no effect before the reload.
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 net0=virtio,bridge=vmbr1"))
	require.Equal(t, "bridge 'vmbr1' does not exist", l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil))
	l.must(http.MethodPut, "/nodes/vmhost/network", nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)

	l.ok(http.MethodPut, "/nodes/vmhost/network/vmbr1", url.Values{
		"type": {"bridge"}, "cidr6": {"fd00::1/64"}, "delete": {"cidr", "mtu"},
	}, nil)

	var changed map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/network/vmbr1", nil, &changed)
	require.NotContains(t, changed, "cidr")
	require.NotContains(t, changed, "address")
	require.NotContains(t, changed, "mtu")
	require.Equal(t, []any{"inet6"}, changed["families"])

	l.ok(http.MethodDelete, "/nodes/vmhost/network", nil, nil)
	l.ok(http.MethodGet, "/nodes/vmhost/network/vmbr1", nil, &changed)
	require.Equal(t, "10.1.0.1/24", changed["cidr"], "reverted")

	l.ok(http.MethodDelete, "/nodes/vmhost/network/vmbr1", nil, nil)
	require.Equal(t, map[string]string{"iface": "interface does not exist"},
		l.do(http.MethodGet, "/nodes/vmhost/network/vmbr1", nil).Errors)
}

func TestRefusedInterfaces(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.ok(http.MethodPost, "/nodes/vmhost/network", values("iface=vmbr1 type=bridge gateway=10.0.0.1 cidr=10.0.0.2/24"), nil)
	l.ok(http.MethodPost, "/nodes/vmhost/network", values("iface=vmbr3 type=bridge gateway6=fd00::1 cidr6=fd00::2/64"), nil)

	tests := map[string]struct {
		verb, path, params string
		errors             map[string]string
	}{
		"one that is there": {
			http.MethodPost, "", "iface=vmbr0 type=bridge", map[string]string{"iface": "interface already exists"},
		},
		"one that is not there": {
			http.MethodPut, "/vmbr9", "type=bridge", map[string]string{"iface": "interface does not exist"},
		},
		"to delete what is not there": {
			http.MethodDelete, "/vmbr9", "", map[string]string{"iface": "interface does not exist"},
		},
		"a second gateway": {
			http.MethodPost, "", "iface=vmbr2 type=bridge gateway=10.0.0.9",
			map[string]string{"gateway": "Default gateway already exists on interface 'vmbr1'."},
		},
		"a port that is taken": {
			http.MethodPost, "", "iface=vmbr2 type=bridge bridge_ports=eno1",
			map[string]string{"bridge_ports": "eno1 is already used on interface 'vmbr0'."},
		},
		"a second gateway of IPv6": {
			http.MethodPost, "", "iface=vmbr2 type=bridge gateway6=fd00::9",
			map[string]string{"gateway6": "Default ipv6 gateway already exists on interface 'vmbr3'."},
		},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.errors, l.do(test.verb, "/nodes/vmhost/network"+test.path, values(test.params)).Errors)
		})
	}
}

// TestEachChangeIsCheckedWithAllInterfaces: the file is not written while one of them would not fit.
func TestEachChangeIsCheckedWithAllInterfaces(t *testing.T) {
	t.Parallel()

	const network = "/nodes/vmhost/network"

	l := newLab(t, nil)
	l.ok(http.MethodPost, network, values("iface=vmbr1 type=bridge cidr=10.1.0.1/24"), nil)
	l.ok(http.MethodPost, network, values("iface=vmbr1.30 type=vlan"), nil)
	require.Equal(t, "500 vlan 'vmbr1.30' - unable to find parent 'vmbr1'", l.do(http.MethodDelete, network+"/vmbr1", nil).Status)
	l.ok(http.MethodPost, network, values("iface=vmbr2 type=bridge bridge_ports=vmbr1.30"), nil)
	require.Equal(t, "500 iface vmbr1.30 - ip address can't be set on interface if bridged in vmbr2",
		l.do(http.MethodPut, network+"/vmbr1.30", values("type=vlan cidr=10.30.0.1/24")).Status)

	for _, name := range []string{"vmbr2", "vmbr1.30", "vmbr1"} {
		l.ok(http.MethodDelete, network+"/"+name, nil, nil)
	}
}

// TestAnInterfaceHasAtLeastTheMTUOfWhatItCarries: a bond carries its slaves, a device its VLANs, and a port its bridge.
func TestAnInterfaceHasAtLeastTheMTUOfWhatItCarries(t *testing.T) {
	t.Parallel()

	const network = "/nodes/vmhost/network"

	l := newLab(t, nil)
	refused := func(verb, path, params, want string) {
		t.Helper()
		require.Equal(t, "500 "+want, l.do(verb, network+path, values(params)).Status)
	}
	refused(http.MethodPost, "", "iface=vmbr1 type=bridge bridge_ports=eno2 mtu=9000", "interface 'eno2' - mtu 1500 is lower than 'vmbr1' - mtu 9000")
	refused(http.MethodPost, "", "iface=vmbr1 type=bridge bridge_ports=eno2.30 mtu=9000", "interface 'eno2.30' - mtu 1500 is lower than 'vmbr1' - mtu 9000")
	l.ok(http.MethodPut, network+"/eno2", values("type=eth mtu=9000"), nil)
	l.ok(http.MethodPost, network, values("iface=vmbr1 type=bridge bridge_ports=eno2 mtu=9000"), nil)
	l.ok(http.MethodPost, network, values("iface=vmbr1.30 type=vlan mtu=9000"), nil)
	refused(http.MethodPut, "/vmbr1", "type=bridge mtu=8000", "interface 'vmbr1' - mtu 8000 is lower than 'vmbr1.30' - mtu 9000")
	refused(http.MethodPut, "/eno2", "type=eth delete=mtu", "interface 'eno2' - mtu 1500 is lower than 'vmbr1' - mtu 9000")
	l.ok(http.MethodPut, network+"/vmbr1.30", values("type=vlan mtu=8000"), nil)
	l.ok(http.MethodPut, network+"/vmbr1", values("type=bridge mtu=8000"), nil)

	l.ok(http.MethodPost, network, values("iface=bond0 type=bond slaves=eno3 bond_mode=802.3ad"), nil)
	l.ok(http.MethodPost, network, values("iface=vmbr2 type=bridge bridge_ports=bond0 mtu=9000"), nil)
	refused(http.MethodPut, "/bond0", "type=bond mtu=8000", "interface 'bond0' - mtu 8000 is lower than 'vmbr2' - mtu 9000")
	l.ok(http.MethodPut, network+"/bond0", values("type=bond mtu=9000"), nil)
	refused(http.MethodPut, "/eno3", "type=eth mtu=9500", "interface 'bond0' - mtu 9000 is lower than 'eno3' - mtu 9500")
}

// TestMappings follows a resource mapping of a GPU.
func TestMappings(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	maps := url.Values{
		"id":          {"gpu"},
		"description": {"two hosts"},
		"map": {
			"id=10de:2204,node=vmhost,path=0000:01:00.0,iommugroup=12,subsystem-id=1458:403b",
			"id=10de:2204,node=vmhost2,path=0000:01:00.0",
		},
	}
	l.ok(http.MethodPost, "/cluster/mapping/pci", maps, nil)

	var mapping map[string]any

	l.ok(http.MethodGet, "/cluster/mapping/pci/gpu", nil, &mapping)
	require.Equal(t, "pci", mapping["type"])
	require.Equal(t, "two hosts", mapping["description"])
	require.Len(t, mapping["map"], 2)
	require.NotEmpty(t, mapping["digest"])

	var checked []struct {
		ID     string
		Checks []struct{ Severity, Message string }
	}

	l.ok(http.MethodGet, "/cluster/mapping/pci", values("check-node=vmhost"), &checked)
	require.Empty(t, checked[0].Checks)
	l.ok(http.MethodGet, "/cluster/mapping/pci", values("check-node=vmhost2"), &checked)
	require.Equal(t, "error", checked[0].Checks[0].Severity)
	require.Equal(t, "Invalid configuration: pci device '0000:01:00.0' not found\n", checked[0].Checks[0].Message)

	require.Equal(t, "500 create hardware mapping failed: pci ID 'gpu' already defined",
		l.do(http.MethodPost, "/cluster/mapping/pci", maps).Status)

	l.ok(http.MethodPut, "/cluster/mapping/pci/gpu", url.Values{"map": maps["map"][:1], "delete": {"description"}}, nil)

	var shorter map[string]any

	l.ok(http.MethodGet, "/cluster/mapping/pci/gpu", nil, &shorter)
	require.Len(t, shorter["map"], 1)
	require.NotContains(t, shorter, "description")

	require.Equal(t, "500 update hardware mapping failed: pci ID 'none' does not exist",
		l.do(http.MethodPut, "/cluster/mapping/pci/none", url.Values{"map": maps["map"]}).Status)
	l.ok(http.MethodDelete, "/cluster/mapping/pci/gpu", nil, nil)
	require.Equal(t, "500 mapping 'gpu' not found", l.do(http.MethodGet, "/cluster/mapping/pci/gpu", nil).Status)

	var devices []map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/hardware/pci", nil, &devices)
	require.Equal(t, []map[string]any{{
		"id": "0000:01:00.0", "class": "0x030000", "vendor": "0x10de", "device": "0x2204", "iommugroup": 12.0,
		"vendor_name": "NVIDIA Corporation", "device_name": "GA102 [GeForce RTX 3090]",
		"subsystem_vendor": "0x1458", "subsystem_device": "0x403b",
	}}, devices)
}

// TestVLANNames checks what a VLAN's name determines.
func TestVLANNames(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		asked, id, device, err string
	}{
		"dotted":               {asked: "iface=eno1.20", id: "20", device: "eno1"},
		"dotted, contradicted": {asked: "iface=eno1.20 vlan-id=7 vlan-raw-device=vmbr0", id: "20", device: "eno1"},
		"numbered":             {asked: "iface=vlan30 vlan-raw-device=eno1", id: "30", device: "eno1"},
		"own name":             {asked: "iface=storage vlan-raw-device=eno1 vlan-id=40", id: "40", device: "eno1"},
		"no device":            {asked: "iface=vlan30", err: "missing vlan-raw-device option"},
		"no number":            {asked: "iface=storage vlan-raw-device=eno1", err: "missing vlan-id option"},
		"too big":              {asked: "iface=eno1.4095", err: "vlan 'eno1.4095' - vlan-id 4095 should be <= 4094"},
		"no parent":            {asked: "iface=eno7.20", err: "vlan 'eno7.20' - unable to find parent 'eno7'"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, nil)
			asked := values(test.asked + " type=vlan")

			if test.err != "" {
				require.Equal(t, "500 "+test.err, l.do(http.MethodPost, "/nodes/vmhost/network", asked).Status)
				return
			}

			l.ok(http.MethodPost, "/nodes/vmhost/network", asked, nil)

			var got map[string]any

			l.ok(http.MethodGet, "/nodes/vmhost/network/"+asked.Get("iface"), nil, &got)
			require.Equal(t, []any{test.id, test.device}, []any{got["vlan-id"], got["vlan-raw-device"]})
		})
	}
}
