package components_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/recorder"
)

// TestInputsOfTheNetworkOfAHostAreGolden: the token is a secret, and what is wanted is no secret, so that a preview shows it.
func TestInputsOfTheNetworkOfAHostAreGolden(t *testing.T) {
	t.Parallel()
	r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewProxmoxHost(ctx, "site", &components.ProxmoxHostArgs{
			API: apiFixture(), Hosts: []string{"vmhost"}, Pools: []string{"web"},
			Networks: []components.HostNetwork{{Host: "vmhost", Interfaces: []components.HostInterface{
				{Name: "vmbr1", Ports: []string{"eno2"}, VLANAware: true, Address: netip.MustParsePrefix("10.1.0.1/24"), MTU: 9000, Comment: "storage"},
				{Name: "vmbr1.30", Device: "vmbr1", Tag: 30},
			}}},
		}, providers)
		return err
	})
	require.NoError(t, err)
	inputs, err := recorder.Inputs(r.Named(t, tokenCommand, components.HostNetworkName("site", "vmhost")))
	require.NoError(t, err)
	require.NotContains(t, inputs, "made-up", "the token is a secret")
	golden.Equal(t, "testdata/inputs/host-network.json", inputs)
	r.Named(t, tokenCommand, "site-pool-web")
}

// TestInputsOfAStorageOfHostsAreGolden: its password is a secret and in no other input.
func TestInputsOfAStorageOfHostsAreGolden(t *testing.T) {
	t.Parallel()
	r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewProxmoxHost(ctx, "site", &components.ProxmoxHostArgs{
			API: apiFixture(), Hosts: []string{"vmhost"},
			Networks: []components.HostNetwork{{Host: "vmhost", Interfaces: []components.HostInterface{{Name: "vmbr1"}}}},
			Storages: []components.HostStorage{{
				Name: "backups", Type: "pbs", Content: []string{"backup"}, Hosts: []string{"vmhost"}, Server: "192.168.20.6", Datastore: "main",
				Username: "backup@pbs", Password: pulumi.String("made-up password"),
			}},
		}, providers)
		return err
	})
	require.NoError(t, err)
	storage := r.Named(t, tokenCommand, components.HostStorageName("site", "backups"))
	inputs, err := recorder.Inputs(storage)
	require.NoError(t, err)
	require.NotContains(t, inputs, "made-up", "token and password are secrets")
	golden.Equal(t, "testdata/inputs/host-storage.json", inputs)
	require.Len(t, storage.RegisterRPC.GetDependencies(), 1, "its server may be reached through the network of the host")
}

// TestAPoolComesAfterItsParents in every order of the inventory, so that a destroy deletes it before them.
func TestAPoolComesAfterItsParents(t *testing.T) {
	t.Parallel()
	var made []*components.Pool
	r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		site, err := components.NewProxmoxHost(ctx, "site", &components.ProxmoxHostArgs{
			API: apiFixture(), Hosts: []string{"vmhost"}, Pools: []string{"tenants/web/shop", "web", "tenants"},
		}, providers)
		if err == nil {
			made = site.Pools
		}
		return err
	})
	require.NoError(t, err)
	require.Equal(t, []string{"tenants/web/shop", "web", "tenants"}, []string{made[0].Name, made[1].Name, made[2].Name})
	for name, parents := range map[string][]string{"tenants/web/shop": {"site-pool-tenants"}, "web": nil, "tenants": nil} {
		require.ElementsMatch(t, parents, recorder.ShortURNs(r.Named(t, tokenCommand, "site-pool-"+name).RegisterRPC.GetDependencies()), name)
	}
}

func TestInputsOfAMappingAreGolden(t *testing.T) {
	t.Parallel()
	r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewProxmoxHost(ctx, "site", &components.ProxmoxHostArgs{
			API: apiFixture(), Hosts: []string{"vmhost", "vmhost-2"},
			Mappings: []components.HostMapping{{Name: "gpu", Comment: "RTX 3090", Devices: []components.HostDevice{
				{Host: "vmhost", Device: components.PCIDevice{BDF: "0000:01:00.0", DeviceID: "10de:2204", SubsystemID: "1458:403b", IOMMUGroup: 12}},
				{Host: "vmhost-2", Device: components.PCIDevice{BDF: "0000:41:00.0", DeviceID: "10de:2204", SubsystemID: "1458:403b", IOMMUGroup: 0}},
			}}},
		}, providers)
		return err
	})
	require.NoError(t, err)
	inputs, err := recorder.Inputs(r.Named(t, "proxmoxve:Hardware/mapping/pci:Pci", components.HostMappingName("site", "gpu")))
	require.NoError(t, err)
	golden.Equal(t, "testdata/inputs/host-mapping.json", inputs)
}

func TestInputsOfAUSBMappingAreGolden(t *testing.T) {
	t.Parallel()
	r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewProxmoxHost(ctx, "site", &components.ProxmoxHostArgs{
			API: apiFixture(), Hosts: []string{"vmhost", "vmhost-2"},
			USBMappings: []components.HostUSBMapping{{Name: "zwave", Comment: "Z-Wave stick", Devices: []components.HostUSBDevice{
				{Host: "vmhost", ID: "0658:0200"}, {Host: "vmhost-2", ID: "0658:0200", Port: "1-2.1"},
			}}},
		}, providers)
		return err
	})
	require.NoError(t, err)
	inputs, err := recorder.Inputs(r.Named(t, "proxmoxve:Hardware/mapping/usb:Usb", components.HostUSBMappingName("site", "zwave")))
	require.NoError(t, err)
	golden.Equal(t, "testdata/inputs/host-usb-mapping.json", inputs)
}

func TestInputsOfAResolverAreGolden(t *testing.T) {
	t.Parallel()
	r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewProxmoxHost(ctx, "site", &components.ProxmoxHostArgs{
			API: apiFixture(), Hosts: []string{"vmhost"},
			DNS: []components.HostDNS{{Host: "vmhost", SearchDomain: "home.example", Servers: []netip.Addr{netip.MustParseAddr("192.168.20.5"), netip.MustParseAddr("fd00:20::5")}}},
		}, providers)
		return err
	})
	require.NoError(t, err)
	inputs, err := recorder.Inputs(r.Named(t, "proxmoxve:index/dNS:DNS", components.HostDNSName("site", "vmhost")))
	require.NoError(t, err)
	golden.Equal(t, "testdata/inputs/host-dns.json", inputs)
}

// TestInputsOfSettingsAreGolden: the token of a metric server is a secret, and a backup job comes after its pool and its storage.
func TestInputsOfSettingsAreGolden(t *testing.T) {
	t.Parallel()
	server := components.HostMetricServer{
		Name: "graphs", Type: "influxdb", Settings: []components.HostOption{{Name: "server", Value: "192.168.20.7"}, {Name: "port", Value: "8086"}},
		Token: pulumi.String("made-up token"),
	}
	job := components.HostBackupJob{Name: "nightly", Settings: []components.HostOption{
		{Name: "schedule", Value: "02:30"}, {Name: "storage", Value: "nas"}, {Name: "pool", Value: "web"}, {Name: "vmid"},
	}}
	r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewProxmoxHost(ctx, "site", &components.ProxmoxHostArgs{
			API: apiFixture(), Hosts: []string{"vmhost"}, Pools: []string{"web"},
			Storages: []components.HostStorage{{Name: "nas", Type: "dir", Path: "/srv", Content: []string{"backup"}}},
			Settings: []components.HostSettings{{
				Host: "vmhost", TimeZone: "Europe/Berlin", Names: []components.HostNames{{Address: netip.MustParseAddr("192.168.20.5"), Names: []string{"nas"}}},
				Repositories: []components.HostRepository{{Handle: "no-subscription", Enabled: true}, {Handle: "enterprise"}},
			}},
			Options:       []components.HostOption{{Name: "keyboard", Value: "de"}},
			MetricServers: []components.HostMetricServer{server}, BackupJobs: []components.HostBackupJob{job},
		}, providers)
		return err
	})
	require.NoError(t, err)
	for name, file := range map[string]string{
		components.HostSettingsName("site", "vmhost"): "host-settings", components.HostOptionsName("site"): "host-options",
		components.HostDefinitionName("site", server.Spec()): "host-metric-server", components.HostDefinitionName("site", job.Spec()): "host-backup-job",
	} {
		inputs, err := recorder.Inputs(r.Named(t, tokenCommand, name))
		require.NoError(t, err)
		require.NotContains(t, inputs, "made-up", "tokens are secrets")
		golden.Equal(t, "testdata/inputs/"+file+".json", inputs)
	}
	require.Len(t, r.Named(t, tokenCommand, components.HostDefinitionName("site", job.Spec())).RegisterRPC.GetDependencies(), 2)
}

func TestSettingsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()
	require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewProxmoxHost(ctx, "site", &components.ProxmoxHostArgs{
			API: apiFixture(), Hosts: []string{"vmhost"},
			Settings: []components.HostSettings{
				{Host: "other", Names: []components.HostNames{{Address: netip.MustParseAddr("::1")}}},
				{Host: "vmhost", Repositories: []components.HostRepository{{}, {Handle: "test"}, {Handle: "test"}}}, {Host: "vmhost"},
			},
			Options:       []components.HostOption{{Name: "keyboard", Value: "de"}, {Name: "keyboard"}, {Name: "Key board", Value: "de"}},
			MetricServers: []components.HostMetricServer{{Type: "prometheus"}},
			BackupJobs:    []components.HostBackupJob{{Name: "1st"}, {Name: "1st", Settings: []components.HostOption{{Name: "all", Value: "1"}}}},
		}, providers)
		return err
	}), `hosts "site": Options[1].Name: "keyboard" is given twice: remove one of the two
Options[1].Value: give it, or leave the option out
Options[2].Name: "Key board" is not an option's name: a-z, with - and _ between words: correct it
Settings[0].Names[0].Address: it is no address without a zone, other than loopback: correct it
Settings[0].Names[0].Names: give one name at least
Settings[0].Host: other is not among Hosts
Settings[1].Repositories[0].Handle: name the repository
Settings[1].Repositories[2].Handle: test is given twice
Settings[2]: it sets nothing: leave it out
Settings[2].Host: vmhost has settings already
MetricServers[0].Name: name the server
MetricServers[0].Type: choose graphite, influxdb or opentelemetry
MetricServers[0].Settings: give server and port at least
BackupJobs[0].Name: "1st" is not valid in Proxmox VE (an ID: a letter, then letters, digits, - and _, two characters at least): choose another name
BackupJobs[0].Settings: give schedule, storage and the machines at least
BackupJobs[1].Name: "1st" is not valid in Proxmox VE (an ID: a letter, then letters, digits, - and _, two characters at least): choose another name
BackupJobs[1].Name: 1st is given twice`)
}

func TestHostsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()
	hosts := func(args *components.ProxmoxHostArgs) error {
		return refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
			_, err := components.NewProxmoxHost(ctx, "site", args, providers)
			return err
		})
	}
	require.EqualError(t, hosts(nil), `hosts "site": args: give ProxmoxHostArgs`)
	require.EqualError(t, hosts(&components.ProxmoxHostArgs{}), `hosts "site": API.Endpoint: give the URL of the API, e.g. https://vmhost:8006
API.Token: give the API token
Hosts: name one host at least`)
	require.EqualError(t, hosts(&components.ProxmoxHostArgs{
		API: apiFixture(), Hosts: []string{"vmhost"}, Networks: []components.HostNetwork{
			{Host: "other", Interfaces: []components.HostInterface{{Name: "vmbr1", MTU: 1279, Tag: 3}, {Name: "vmbr1"}}},
			{Host: "vmhost", Interfaces: []components.HostInterface{
				{Name: "vmbr1.30", Device: "vmbr1", Ports: []string{"eno1"}}, {Name: "vmbr-2", Ports: []string{"eth-lan"}}, {Name: "vlan40", Device: "eth-lan", Tag: 40},
			}},
			{Host: "vmhost"},
		},
		Storages:    []components.HostStorage{{Name: "1st", Type: "btrfs", Password: pulumi.String("made-up")}, {Name: "nas", Type: "dir", Content: []string{"iso"}}, {Name: "nas", Type: "dir", Content: []string{"iso"}}},
		USBMappings: []components.HostUSBMapping{{Name: "zwave", Devices: []components.HostUSBDevice{{ID: "658:200", Port: "2"}}}, {Name: "zwave"}},
		DNS:         []components.HostDNS{{Host: "other", Servers: []netip.Addr{{}}}, {Host: "vmhost", SearchDomain: "home.example"}, {Host: "vmhost", SearchDomain: "home.example"}},
		Mappings:    []components.HostMapping{{Name: "gpu"}, {Name: "gpu", Devices: []components.HostDevice{{Device: components.PCIDevice{BDF: "0000:01:00.0", DeviceID: "10de:2204", SubsystemID: "1458:403b"}}}}},
	}), `hosts "site": Networks[0].Interfaces[0].MTU: 1279: choose one from 1280 to 65520
Networks[0].Interfaces[0].Device: name the device of the VLAN
Networks[0].Interfaces[1].Name: vmbr1 is given twice
Networks[0].Host: other is not among Hosts
Networks[1].Interfaces[0].Tag: 0: choose one from 1 to 4094
Networks[1].Interfaces[0].Ports: a VLAN has a Device, and no ports
Networks[1].Interfaces[1].Name: "vmbr-2" is not valid in Proxmox VE (an interface's name: a letter, then letters, digits and _, perhaps a dot and a number, 2 to 15 characters): choose another name
Networks[1].Interfaces[1].Ports[0]: "eth-lan" is not valid in Proxmox VE (an interface's name: a letter, then letters, digits and _, perhaps a dot and a number, 2 to 15 characters): choose another name
Networks[1].Interfaces[2].Device: "eth-lan" is not valid in Proxmox VE (an interface's name: a letter, then letters, digits and _, perhaps a dot and a number, 2 to 15 characters): choose another name
Networks[2].Host: vmhost has a network already
DNS[0].SearchDomain: it is missing: give it
DNS[0].Servers[0]: it is no address without a zone: correct it
DNS[0].Host: other is not among Hosts
DNS[1].Servers: give one to three, not 0
DNS[2].Servers: give one to three, not 0
DNS[2].Host: vmhost has a resolver already
Storages[0].Name: "1st" is not valid in Proxmox VE (a storage's ID: a letter, then letters, digits, -, _ and ., the last a letter or digit): choose another name
Storages[0].Type: "btrfs": choose one of [dir nfs cifs lvmthin zfspool pbs]
Storages[0].Content: name one content type at least
Storages[0].Username: name the user of the password
Storages[2].Name: nas is given twice
Mappings[0].Devices: give one device at least
Mappings[1].Devices[0].Host: name the host
Mappings[1].Name: gpu is given twice
USBMappings[0].Devices[0].Host: name the host
USBMappings[0].Devices[0].ID: "658:200" is not vendor:product, four hexadecimal digits each: correct it
USBMappings[0].Devices[0].Port: "2" is not bus-port, with further ports behind dots: correct it
USBMappings[1].Devices: give one device at least
USBMappings[1].Name: zwave is given twice`)
}

// TestInputsOfTheAccessOfHostsAreGolden: what is wanted is one Command, and no secret, so that a preview shows it.
func TestInputsOfTheAccessOfHostsAreGolden(t *testing.T) {
	t.Parallel()
	r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewProxmoxHost(ctx, "site", &components.ProxmoxHostArgs{
			API: apiFixture(), Hosts: []string{"vmhost"},
			Tokens: []components.HostToken{{User: "backup@pve", Name: "nightly", Separated: true, Permissions: []components.HostPermission{{Path: "/vms", Role: "Backup"}}}},
			Access: components.HostAccess{
				Roles:  []components.HostRole{{Name: "Backup", Privileges: []string{"VM.Audit", "VM.Backup"}}},
				Groups: []components.HostGroup{{Name: "viewers", Permissions: []components.HostPermission{{Path: "/", Role: "PVEAuditor"}}}},
				Users: []components.HostUser{{
					ID: "backup@pve", Email: "admin@home.example", Expires: time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC), Groups: []string{"viewers"},
					Permissions: []components.HostPermission{{Path: "/vms", Role: "Backup", Here: true}},
				}},
			},
		}, providers)
		return err
	})
	require.NoError(t, err)
	inputs, err := recorder.Inputs(r.Named(t, tokenCommand, components.HostAccessName("site")))
	require.NoError(t, err)
	require.NotContains(t, inputs, "made-up", "the token is a secret")
	golden.Equal(t, "testdata/inputs/host-access.json", inputs)

	token := r.Named(t, tokenCommand, "site-token-backup@pve!nightly")
	inputs, err = recorder.Inputs(token)
	require.NoError(t, err)
	golden.Equal(t, "testdata/inputs/host-token.json", inputs)
	require.Equal(t, []string{"stdout"}, token.RegisterRPC.GetAdditionalSecretOutputs(), "it is the token with its secret")
	require.Len(t, token.RegisterRPC.GetDependencies(), 1, "its user is made first")
}

func TestAccessIsRefusedAllAtOnce(t *testing.T) {
	t.Parallel()
	permission := []components.HostPermission{{Path: "vms"}}
	err := refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewProxmoxHost(ctx, "site", &components.ProxmoxHostArgs{
			API: apiFixture(), Hosts: []string{"vmhost"},
			Access: components.HostAccess{
				Roles:  []components.HostRole{{Name: "PVEBackup"}, {Name: "Backup", Privileges: []string{"audit", "VM.Audit", "VM.Audit"}}},
				Groups: []components.HostGroup{{Permissions: permission}},
				Users:  []components.HostUser{{ID: "root@pam", Groups: []string{"the admins"}}},
			},
			Tokens: []components.HostToken{{User: "backup@pve", Permissions: []components.HostPermission{{Path: "/", Role: "Backup"}, {Path: "/", Role: "Backup", Here: true}}}},
		}, providers)
		return err
	})
	require.EqualError(t, err, `hosts "site": Access.Roles[0].Name: "PVEBackup" is not a role's ID: letters, digits, -, _ and ., not beginning with PVE, and none of Administrator, NoAccess: correct it
Access.Roles[0].Privileges: name one privilege at least
Access.Roles[1].Privileges[0]: "audit" is not a privilege such as VM.Audit: correct it
Access.Roles[1].Privileges[2]: "VM.Audit" is given twice: remove one of the two
Access.Groups[0].Name: it is missing: give it
Access.Groups[0].Permissions[0].Path: "vms" is not a path such as /, /nodes/HOST, /vms/VMID, /storage/STORAGE, /pool/POOL, /mapping/pci/MAPPING, /sdn/zones/localnetwork/BRIDGE, /access/groups/GROUP: correct it
Access.Groups[0].Permissions[0].Role: it is missing: give it
Access.Users[0].ID: "root@pam" is not USER@REALM, at most 64 characters, and not root@pam: correct it
Access.Users[0].Groups[0]: "the admins" is not a group's ID: letters, digits, -, _ and .: correct it
Tokens[0].Name: it is missing: give it
Tokens[0].Permissions: it has those of its user: set Separated, or give them to the user
Tokens[0].Permissions[1]: Backup on / is given twice: remove one of the two`)
}
