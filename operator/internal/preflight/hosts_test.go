package preflight_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// cardOfPVE1 is a GPU of the host pve1.
var cardOfPVE1 = proxmox.PCIDevice{
	Address: "0000:01:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0x2204", SubsystemVendor: "0x1458", SubsystemDevice: "0x403b", IOMMUGroup: 12,
}

// TestWhatHostsAreToHaveIsForeseen: what is made, what is changed, and what Proxmox VE would refuse, with nothing written.
func TestWhatHostsAreToHaveIsForeseen(t *testing.T) {
	t.Parallel()
	config := forSystems(emulatedConfig(schema.Release84))
	alone := cardOfPVE1
	alone.Address, alone.IOMMUGroup = "0000:03:00.0", -1
	config.Hosts[0].PCI = []proxmox.PCIDevice{cardOfPVE1, alone}
	emulated, calls := emulate(t, config)
	device := hosts.MappedDevice{Host: "pve1", BDF: "0000:01:00.0", DeviceID: "10de:2204", SubsystemID: "1458:403b", IOMMUGroup: 12}
	other, elsewhere, ungrouped := device, device, device
	other.IOMMUGroup, elsewhere.BDF, ungrouped.BDF = 13, "0000:02:00.0", "0000:03:00.0"
	report, err := preflight.Hosts(t.Context(), preflight.HostsSubject{
		Inventory: &hosts.Inventory{File: hosts.File{
			Hosts: []hosts.Host{{Name: "pve1"}},
			Mappings: []hosts.Mapping{
				{Name: "gpu", Devices: []hosts.MappedDevice{device}}, {Name: "group", Devices: []hosts.MappedDevice{other}},
				{Name: "place", Devices: []hosts.MappedDevice{elsewhere}}, {Name: "iommu", Devices: []hosts.MappedDevice{ungrouped}},
			},
		}},
		Storages: []pve.StorageRun{
			{Connection: emulated.Host, Wanted: hostspec.Storage{Name: "nas", Type: "nfs", Server: "192.168.20.5", Export: "/mnt/tank", Content: []string{"iso"}}},
			{Connection: emulated.Host, Wanted: hostspec.Storage{Name: "tank", Type: "zfspool", ZFSPool: "rpool/tank", Content: []string{"images"}}},
			{Connection: emulated.Host, Wanted: hostspec.Storage{Name: "local", Type: "dir", Path: "/srv", Content: []string{"iso"}}},
			{Connection: emulated.Host, Wanted: hostspec.Storage{Name: "local", Type: "dir", Path: "/srv", Content: []string{"iso"}}, Made: true},
		},
		Host: emulated.Host,
	})
	require.NoError(t, err)
	require.Equal(t, preflight.Report{
		{Name: "host", Result: preflight.OK, Sentence: "host pve1 is online"},
		{Name: "storage", Result: preflight.OK, Sentence: "storage nas is made"},
		{Name: "storage", Result: preflight.OK, Sentence: "storage tank is changed: content: images,rootdir instead of images"},
		{Name: "storage", Result: preflight.Fail, Sentence: "the storage local is there with other settings (path: /var/lib/vz instead of /srv), which Proxmox VE never changes: correct local in storages, or choose another name for it"},
		{Name: "storage", Result: preflight.OK, Sentence: "storage local is made anew"},
		{Name: "mapping", Result: preflight.OK, Sentence: "the hosts have the devices of the mapping gpu"},
		{Name: "mapping", Result: preflight.Fail, Sentence: "PCI 0000:01:00.0 on pve1 has iommuGroup 12, not 13", Remedy: "write deviceId: 10de:2204, subsystemId: 1458:403b, iommuGroup: 12"},
		{Name: "mapping", Result: preflight.Fail, Sentence: "PCI 0000:02:00.0 of the mapping place is not on pve1", Remedy: "look with `lspci -Dnn` on pve1"},
		{Name: "mapping", Result: preflight.OK, Sentence: "the hosts have the devices of the mapping iommu"},
		{
			Name: "mapping", Result: preflight.Warn, Sentence: "PCI 0000:03:00.0 on pve1 is in no IOMMU group: the IOMMU is off", Remedy: onPVE1,
			Commands: []string{"# at this reboot, in the firmware's set-up: turn on AMD-Vi (IOMMU)", "reboot"},
		},
	}, report)
	for verb := range calls.verbs(t) {
		require.Equal(t, http.MethodGet, verb)
	}
}

// TestSettingsOfHostsAreForeseen: what is set, what is so already, and a backup job whose storage takes no backups, which Proxmox VE would define.
func TestSettingsOfHostsAreForeseen(t *testing.T) {
	t.Parallel()
	emulated, calls := emulate(t, forSystems(emulatedConfig(schema.Release84)))
	job := func(name, storage string) pve.DefinitionRun {
		return pve.DefinitionRun{Connection: emulated.Host, Wanted: hostspec.Definition{
			Kind: hostspec.BackupJob, ID: name, Settings: []hostspec.Setting{{Name: "storage", Value: storage}, {Name: "schedule", Value: "02:30"}, {Name: "all", Value: "1"}},
		}}
	}
	settings := func(zone string) pve.HostSettingsRun {
		return pve.HostSettingsRun{Connection: emulated.Host, Wanted: hostspec.HostSettings{Node: "pve1", TimeZone: zone}}
	}
	report, err := preflight.Hosts(t.Context(), preflight.HostsSubject{
		Inventory:   &hosts.Inventory{File: hosts.File{Hosts: []hosts.Host{{Name: "pve1"}}}},
		Storages:    []pve.StorageRun{{Connection: emulated.Host, Wanted: hostspec.Storage{Name: "nas", Type: "nfs", Server: "192.168.20.5", Export: "/mnt/tank", Content: []string{"backup"}}}},
		Settings:    []pve.HostSettingsRun{settings("Europe/Berlin"), settings("UTC")},
		Options:     pve.OptionsRun{Connection: emulated.Host, Wanted: hostspec.Options{{Name: "max_workers", Value: "2"}}},
		Definitions: []pve.DefinitionRun{job("nightly", "nas"), job("weekly", "tank"), job("monthly", "tape"), job("yearly", "local")},
		Host:        emulated.Host,
	})
	require.NoError(t, err)
	require.Equal(t, preflight.Report{
		{Name: "host", Result: preflight.OK, Sentence: "host pve1 is online"},
		{Name: "storage", Result: preflight.OK, Sentence: "storage nas is made"},
		{Name: "settings", Result: preflight.OK, Sentence: "the settings of pve1 can be changed: time zone: UTC instead of Europe/Berlin"},
		{Name: "settings", Result: preflight.OK, Sentence: "the settings of pve1 are as the inventory wants them"},
		{Name: "settings", Result: preflight.OK, Sentence: "the options of the cluster can be changed: max_workers: none instead of 2"},
		{Name: "settings", Result: preflight.OK, Sentence: "backup job nightly is made"},
		{Name: "settings", Result: preflight.Fail, Sentence: "the backup job weekly has the storage tank, which takes no backups, as a zfspool cannot", Remedy: "name another storage"},
		{Name: "settings", Result: preflight.Fail, Sentence: "the backup job monthly has the storage tape, which is not there", Remedy: "name another storage, or add it to storages; if it is there, give the token Datastore.Audit on /storage/tape"},
		{Name: "settings", Result: preflight.Fail, Sentence: "the backup job yearly has the storage local, which takes no backups", Remedy: "run `pvesm set local --content import,iso,vztmpl,backup` on the host, or name another storage"},
	}, report)
	for verb := range calls.verbs(t) {
		require.Equal(t, http.MethodGet, verb)
	}
}

// TestPoolsHaveParents: Proxmox VE makes no pool without the one that it is nested in.
func TestPoolsHaveParents(t *testing.T) {
	t.Parallel()
	emulated, _ := emulate(t, forSystems(emulatedConfig(schema.Release84)))
	_, err := emulated.Host.EnsurePool(t.Context(), "tenants", "")
	require.NoError(t, err)
	report, err := preflight.Hosts(t.Context(), preflight.HostsSubject{
		Inventory: &hosts.Inventory{File: hosts.File{
			Hosts: []hosts.Host{{Name: "pve1"}},
			Pools: []hosts.Pool{{Name: "tenants/web"}, {Name: "labs/a"}, {Name: "labs"}, {Name: "shops/a"}, {Name: "tenants/db/a"}},
		}},
		Host: emulated.Host,
	})
	require.NoError(t, err)
	require.Equal(t, preflight.Report{
		{Name: "host", Result: preflight.OK, Sentence: "host pve1 is online"},
		{Name: "pool", Result: preflight.OK, Sentence: "the pool tenants/web is there, or can be made"},
		{Name: "pool", Result: preflight.OK, Sentence: "the pool labs/a is there, or can be made"},
		{Name: "pool", Result: preflight.Fail, Sentence: "the pool shops/a cannot be made, since its parent shops is not there", Remedy: "add shops to pools; if it is there, give the token Pool.Audit on /pool/shops"},
		{Name: "pool", Result: preflight.Fail, Sentence: "the pool tenants/db/a cannot be made, since its parent tenants/db is not there", Remedy: "add tenants/db to pools; if it is there, give the token Pool.Audit on /pool/tenants/db"},
	}, report)
}

// TestSlowReportsOfHosts: each report comes only when all hosts have been asked for theirs, and they are asked after everything else has been read.
func TestSlowReportsOfHosts(t *testing.T) {
	t.Parallel()
	config := forSystems(emulatedConfig(schema.Release91))
	names := []string{config.Hosts[0].Name, config.Hosts[1].Name}
	var devices []hosts.MappedDevice
	for i, name := range names {
		config.Hosts[i].PCI, config.Hosts[i].Setup = []proxmox.PCIDevice{cardOfPVE1}, proxmox.Setup{IOMMUOff: true}
		devices = append(devices, hosts.MappedDevice{Host: name, BDF: "0000:01:00.0", DeviceID: "10de:2204", SubsystemID: "1458:403b", IOMMUGroup: 12})
	}
	emulated, _ := emulate(t, config)
	behind, err := url.Parse(emulated.Host.Endpoint)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the certificate of a test
	all := make(chan struct{})
	var reports atomic.Int32
	var late atomic.Bool
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch isReport := strings.HasSuffix(r.URL.Path, "/report"); {
		case isReport && int(reports.Add(1)) == len(names):
			close(all)
		case !isReport && reports.Load() > 0 && !strings.HasSuffix(r.URL.Path, "/status"):
			late.Store(true)
		}
		if strings.HasSuffix(r.URL.Path, "/report") {
			select {
			case <-all:
			case <-r.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	connection := emulated.Host
	connection.Endpoint = front.URL
	report, err := preflight.Hosts(t.Context(), preflight.HostsSubject{
		Inventory: &hosts.Inventory{File: hosts.File{
			Hosts: []hosts.Host{{Name: names[0]}, {Name: names[1]}}, Mappings: []hosts.Mapping{{Name: "gpu", Devices: devices}},
		}},
		Options: pve.OptionsRun{Connection: connection, Wanted: hostspec.Options{{Name: "max_workers", Value: "2"}}},
		Host:    connection,
	})
	require.NoError(t, err)
	var sentences []string
	for _, check := range report.Unsound() {
		sentences = append(sentences, check.Sentence)
	}
	require.Equal(t, []string{
		"PCI 0000:01:00.0 on pve1 is in no IOMMU group: the IOMMU is off", "PCI 0000:01:00.0 on pve2 is in no IOMMU group: the IOMMU is off",
	}, sentences)
	require.False(t, late.Load(), "something else is read after a report")
}
