package inventory

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// csi checks what the CSI driver finds in the cluster.
func (c *checker) csi(csi TrueNASCSI, at *strictyaml.Path) {
	c.csiStorage(csi, at)
	c.csiChart(csi, at)
	if csi.IQNBase != "" && !iqnBase.MatchString(csi.IQNBase) {
		c.cluster(at.Key("iqnBase"), fault{What: "is not the beginning of the name of a target", Rule: "iqn.YYYY-MM.DOMAIN", Got: csi.IQNBase, Do: "write it as Shares > Block (iSCSI) Shares Targets > Global Target Configuration of TrueNAS has it"})
	}
	names, chosen := map[string]int{}, -1
	for i, class := range csi.StorageClasses {
		path := at.Key("storageClasses").Index(i)
		c.className(class.Name, path.Key("name"))
		if before, twice := names[class.Name]; twice && class.Name != "" {
			c.cluster(path.Key("name"), fault{What: "is there twice", Rule: "storageClasses[" + strconv.Itoa(before) + "] has the same", Got: class.Name, Do: "choose another name, or remove one of them"})
		}
		names[class.Name] = i
		if class.Default && chosen >= 0 {
			c.cluster(path.Key("default"), fault{What: "makes a second default", Rule: "storageClasses[" + strconv.Itoa(chosen) + "] is the default already", Do: "remove it from one of them"})
		} else if class.Default {
			chosen = i
		}
		c.storageClass(class, path)
	}
}

// iqnBase is an IQN without the part behind the colon (RFC 3720, 3.2.6.3.1).
var iqnBase = regexp.MustCompile(`^iqn\.[0-9]{4}-(0[1-9]|1[0-2])\.[a-z0-9.-]+$`)

// csiStorage checks that the box is described, and that the driver can trust it.
func (c *checker) csiStorage(csi TrueNASCSI, at *strictyaml.Path) {
	storage := c.inv.Cluster.Storage
	if storage == nil {
		c.cluster(at, fault{What: "has no box", Rule: "the driver's user, key and pool are those of storage", Do: "add storage with endpoint, pool and datasets"})
		return
	}
	if csi.SkipVerify {
		return
	}
	for _, given := range []struct{ name, value string }{{"fingerprint", storage.Fingerprint}, {"caFile", storage.CAFile}} {
		if given.value != "" {
			c.cluster(at, fault{
				What: "cannot verify the box", Rule: "the driver knows the public authorities only, and not storage." + given.name,
				Do: "give the box a certificate of a public authority and remove storage." + given.name + ", or write skipVerify: true if the network between the nodes and the box is trusted",
			})
		}
	}
}

func (c *checker) csiChart(csi TrueNASCSI, at *strictyaml.Path) {
	c.chart(csi.Chart, at)
	source := c.inv.clusterSource
	if csi.Chart.Repository != "" && csi.Chart.Path == "" && csi.Version == (ChartVersion{}) {
		c.cluster(at.Key("chart"), fault{What: "has no version", Rule: "the makers' own chart is of no use here, so there is none to take one from", Do: "add version, exact"})
	}
	for _, name := range []string{"version", "values"} {
		if !csi.HasChart() && source.Has(at.Key(name)) {
			c.cluster(at.Key(name), fault{What: "is of no use", Rule: "without chart, the driver is not installed from here", Do: "remove it, or add chart"})
		}
	}
}

func (c *checker) className(name string, at *strictyaml.Path) {
	if name == "" || len(validation.IsDNS1123Subdomain(name)) == 0 {
		return
	}
	c.cluster(at, fault{What: "is not the name of a StorageClass", Rule: "a-z, 0-9, - and ., a letter or digit first and last, at most " + strconv.Itoa(validation.DNS1123SubdomainMaxLength), Got: name, Do: "choose another name"})
}

// ownKeys are the parameters of the driver that come from keys of the inventory (truenas/truenas-csi, pkg/driver/controller.go).
var ownKeys = map[string]string{
	"protocol": "protocol", "compression": "compression", "nfs.networks": "networks", "pool": "storage.pool", "iscsi.iqn-base": "csi.iqnBase", "iscsi.iqn-prefix": "csi.iqnBase",
	"iscsi.initiators": "storage.iscsi.initiators", "iscsi.networks": "storage.iscsi.initiators",
}

// secretParameters are parameters that contain a secret.
var secretParameters = []string{"encryption.key", "encryption.passphrase", "iscsi.chapPeerSecret", "iscsi.chapSecret", "nvmeof.dhchapCtrlKey", "nvmeof.dhchapKey"}

// unknownCompressions are algorithms of the box that the driver refuses (truenas/truenas-csi, pkg/driver/controller.go, ValidCompressionAlgorithms).
var unknownCompressions = []Compression{"ZSTD-19"}

func (c *checker) storageClass(class StorageClass, at *strictyaml.Path) {
	if slices.Contains(unknownCompressions, class.Compression) {
		c.cluster(at.Key("compression"), fault{What: "is not known to the driver", Got: string(class.Compression), Do: "write ZSTD-9, or remove it"})
	}
	switch {
	case class.Protocol == ProtocolISCSI:
		c.classOfDisks(class, at)
	case class.Protocol == ProtocolNFS:
		c.shareNetworks(class.Networks, at)
	}
	for _, name := range slices.Sorted(maps.Keys(class.Parameters)) {
		path := at.Key("parameters").Key(name)
		switch own, has := ownKeys[name]; {
		case has:
			c.cluster(path, fault{What: "has a key of its own", Rule: "it is " + own, Do: "remove it here, and write it there"})
		case slices.Contains(secretParameters, name):
			c.cluster(path, fault{What: "is a secret", Rule: "this file is no place for one, and everybody in the cluster can read a StorageClass", Do: "remove it"})
		case class.Parameters[name] == "":
			c.cluster(path, fault{What: "is empty", Do: "give it a value, or remove it"})
		}
	}
}

// classOfDisks checks a class whose volumes are disks.
func (c *checker) classOfDisks(class StorageClass, at *strictyaml.Path) {
	if c.inv.clusterSource.Has(at.Key("networks")) {
		c.cluster(at.Key("networks"), fault{What: "is of no use", Rule: "only an nfs class has networks; an iscsi class has the initiators of storage.iscsi", Do: "remove it"})
	}
	storage := c.inv.Cluster.Storage
	if storage == nil {
		return
	}
	if storage.ISCSI != nil { // the extension is checked with it
		c.portal(*storage, class, at)
		return
	}
	c.cluster(at.Key("protocol"), fault{What: "has nothing that it logs in to", Rule: "storage has no iscsi", Got: string(class.Protocol), Do: "add iscsi: {} to storage"})
	if !slices.Contains(c.inv.Cluster.Talos.Schematic.Extensions, iscsiTools) {
		c.cluster(at.Key("protocol"), fault{
			What: "is of no use to Talos", Rule: "it mounts iSCSI volumes with " + iscsiTools + " only", Got: string(class.Protocol), Do: "add " + iscsiTools + " to talos.schematic.extensions",
		})
	}
}

// portal checks that nodes can log in: the driver's library splits HOST:PORT at the first colon (truenas/truenas-csi, README.md, IPv4 only).
func (c *checker) portal(storage Storage, class StorageClass, at *strictyaml.Path) {
	host := c.inv.Cluster.Addons.TrueNAS.Host
	portal := storage.ISCSIPortal(host)
	if portal != "" && !strings.HasPrefix(portal, "[") {
		return
	}
	c.cluster(at.Key("protocol"), fault{
		What: "has no IPv4 address to log in to", Rule: "the driver takes no other", Got: string(class.Protocol), Do: "add an IPv4 address of the box to storage.iscsi.listen",
	})
}
