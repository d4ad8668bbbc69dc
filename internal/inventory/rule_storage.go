package inventory

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/hostname"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// iscsiTools is the extension without which Talos cannot mount iSCSI volumes.
const iscsiTools = "siderolabs/iscsi-tools"

// storage checks what the cluster has on the box.
func (c *checker) storage() {
	storage, at := c.inv.Cluster.Storage, storagePath()
	if storage == nil {
		return
	}
	c.storageEndpoint(*storage, at)
	c.zfsName(storage.Pool, at.Key("pool"), false)
	c.account(storage.Username, at.Key("username"))
	for i, dataset := range storage.Datasets {
		path := at.Key("datasets").Index(i)
		c.zfsName(dataset.Name, path.Key("name"), true)
		c.datasetName(storage.Datasets[:i], dataset.Name, path.Key("name"))
		c.datasetOrder(*storage, i, path)
		c.datasetQuotas(dataset, path)
		c.share(dataset, path)
	}
	c.iscsi(storage.ISCSI, at.Key("iscsi"))
}

// datasetName refuses a name that an earlier dataset has, or that becomes the same name in the state, where the two could not be distinguished.
func (c *checker) datasetName(before []StorageDataset, name string, at *strictyaml.Path) {
	for i, other := range before {
		holder := "datasets[" + strconv.Itoa(i) + "]"
		switch {
		case name == "":
		case other.Name == name:
			c.cluster(at, fault{What: "is there twice", Rule: holder + " has the same", Got: name, Do: "choose another name, or remove one of them"})
			return
		case nameInState(other.Name) == nameInState(name):
			c.cluster(at, fault{What: "cannot be told from " + other.Name + ", the name of " + holder, Rule: "both are " + nameInState(name) + " in the state", Got: name, Do: "choose another name"})
			return
		}
	}
}

// nameInState returns the name of a dataset in the state (components/truenas_storage.go).
func nameInState(dataset string) string { return strings.ReplaceAll(dataset, "/", "-") }

func (c *checker) storageEndpoint(storage Storage, at *strictyaml.Path) {
	location, err := url.Parse(storage.Endpoint)
	endpoint := at.Key("endpoint")
	switch {
	case storage.Endpoint == "":
	case err != nil || location.Hostname() == "":
		c.cluster(endpoint, fault{What: "is not a URL", Got: storage.Endpoint, Do: "write one like https://nas.example"})
	case location.User != nil:
		c.cluster(endpoint, fault{What: "holds credentials", Rule: "this file is no place for them", Do: "remove them from the URL and put the API key into secrets.sops.yaml"})
	case location.Scheme == "http" || location.Scheme == "ws":
		c.cluster(endpoint, fault{What: "is not encrypted", Rule: "TrueNAS revokes an API key that it receives in clear", Got: storage.Endpoint, Do: "write https://" + location.Host})
	case location.Scheme != "https":
		c.cluster(endpoint, fault{What: "is not a URL of a kind that can be used here", Rule: "https", Got: storage.Endpoint, Do: "write https://" + location.Host})
	case !hostname.IsHost(location.Hostname()):
		c.cluster(endpoint, fault{What: "is neither a DNS name nor an IP address", Got: location.Hostname(), Do: "write one like https://nas.example"})
	case strings.Trim(location.Path, "/") != "" || location.RawQuery != "" || location.Fragment != "":
		c.cluster(endpoint, fault{What: "has a path", Rule: "the API is always at /api/current", Got: storage.Endpoint, Do: "write https://" + location.Host})
	}
	if storage.Fingerprint != "" && storage.CAFile != "" {
		c.cluster(at, fault{What: "has a fingerprint and a caFile", Rule: "at most one of the two", Do: "remove one of them"})
	}
	if storage.Fingerprint != "" && !fingerprint.MatchString(storage.Fingerprint) {
		c.cluster(at.Key("fingerprint"), fault{
			What: "is not the SHA-256 of a certificate", Rule: "64 hexadecimal digits, or 32 pairs with colons between them", Got: storage.Fingerprint,
			Do: "show it with `openssl s_client -connect HOST:443 </dev/null | openssl x509 -noout -fingerprint -sha256`",
		})
	}
}

// fingerprint is a SHA-256 in the two forms in which tools print it.
var fingerprint = regexp.MustCompile(`^([0-9a-fA-F]{64}|[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){31})$`)

// zfsComponent is a part of a dataset's name that needs no quotes anywhere; ZFS allows also spaces and colons (zfs(8)).
var zfsComponent = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// maxDatasetName leaves room for the names of snapshots (truenas/middleware, api/v25_10_5/pool_dataset.py, ZFS_MAX_DATASET_NAME_LEN).
const maxDatasetName = 200

// zfsName checks the name of a pool, or of a dataset below one.
func (c *checker) zfsName(name string, at *strictyaml.Path, nested bool) {
	if name == "" {
		return
	}
	if len(name) > maxDatasetName {
		c.cluster(at, fault{What: "is too long by " + strconv.Itoa(len(name)-maxDatasetName), Rule: "at most " + strconv.Itoa(maxDatasetName) + " characters", Do: "choose a shorter name"})
		return
	}
	if pool := c.inv.Cluster.Storage.Pool; nested && pool != "" && strings.HasPrefix(name, pool+"/") {
		c.cluster(at, fault{What: "begins with the pool", Rule: "it is the name below storage.pool", Got: name, Do: "write " + strings.TrimPrefix(name, pool+"/")})
		return
	}
	parts := []string{name}
	if nested {
		parts = strings.Split(name, "/")
	}
	for _, part := range parts {
		if !zfsComponent.MatchString(part) {
			rule := "letters, digits, _, . and -, a letter or digit first"
			if nested {
				rule += "; / between the levels"
			}
			c.cluster(at, fault{What: "is not a name of ZFS", Rule: rule, Got: name, Do: "choose another name"})
			return
		}
	}
}

// localUser is the name of a local user (truenas/middleware, api/base/types/user.py, LocalUsername).
var localUser = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,31}$`)

func (c *checker) account(name string, at *strictyaml.Path) {
	if name != "" && !localUser.MatchString(name) {
		c.cluster(at, fault{What: "is not the name of a user of TrueNAS", Rule: "letters, digits, _, . and -, no - or . first, at most 32", Got: name, Do: "correct the name"})
	}
}

// datasetOrder refuses a dataset that is listed before the dataset that contains it.
func (c *checker) datasetOrder(storage Storage, at int, path *strictyaml.Path) {
	name := storage.Datasets[at].Name
	for later := at + 1; later < len(storage.Datasets); later++ {
		if above := storage.Datasets[later].Name; above != "" && strings.HasPrefix(name, above+"/") {
			c.cluster(path.Key("name"), fault{What: "stands before the dataset that holds it", Rule: "datasets are created in the order of the list", Got: name, Do: "move " + above + " before it"})
		}
	}
}

func (c *checker) datasetQuotas(dataset StorageDataset, at *strictyaml.Path) {
	if dataset.QuotaGiB > 0 && dataset.RefQuotaGiB > dataset.QuotaGiB {
		c.cluster(at.Key("refquotaGiB"), fault{
			What: "is larger than the quota", Rule: "quotaGiB " + strconv.Itoa(dataset.QuotaGiB) + " limits the dataset with all below it", Got: strconv.Itoa(dataset.RefQuotaGiB),
			Do: "lower it, or raise quotaGiB",
		})
	}
}

func (c *checker) share(dataset StorageDataset, at *strictyaml.Path) {
	if dataset.NFS == nil {
		return
	}
	path := at.Key("nfs")
	c.shareNetworks(dataset.NFS.Networks, path)
	c.account(dataset.NFS.MapRootUser, path.Key("mapRootUser"))
}

// shareNetworks checks the key networks of what is exported.
func (c *checker) shareNetworks(networks []netip.Prefix, path *strictyaml.Path) {
	for i, network := range networks {
		here := path.Key("networks").Index(i)
		if !c.inv.clusterSource.Has(path.Key("networks")) {
			here = path
		}
		if network.IsValid() && network != network.Masked() {
			c.cluster(here, fault{What: "is no network", Rule: "bits behind the prefix are set", Got: network.String(), Do: "did you mean " + network.Masked().String() + "?"})
			continue
		}
		for before, other := range networks[:i] {
			if network.IsValid() && other.IsValid() && network.Overlaps(other) {
				c.cluster(here, fault{What: "overlaps with networks[" + strconv.Itoa(before) + "]", Rule: "TrueNAS refuses a share with such networks", Got: network.String(), Do: "remove the smaller one"})
			}
		}
	}
	c.reachable(networks, path)
}

// reachable refuses a share that no node can mount.
func (c *checker) reachable(networks []netip.Prefix, at *strictyaml.Path) {
	unread := slices.ContainsFunc(networks, func(network netip.Prefix) bool { return !network.IsValid() })
	if unread || !c.inv.clusterSource.Has(at.Key("networks")) || len(c.inv.Nodes) == 0 {
		return
	}
	for i, node := range c.inv.Nodes {
		if !node.Address.IsValid() || !c.cidr.IsValid() || !c.cidr.Contains(node.Address) {
			continue
		}
		for _, network := range networks {
			if network.Contains(node.Address) {
				return
			}
		}
		if i == len(c.inv.Nodes)-1 {
			c.cluster(at.Key("networks"), fault{What: "leaves out every node", Rule: "network.cidr is " + c.cidr.String(), Do: "add it, or remove the key"})
		}
	}
}

// iqn is the name of an iSCSI initiator (RFC 3720, 3.2.6.3), in small letters.
var iqn = regexp.MustCompile(`^(iqn\.[0-9]{4}-(0[1-9]|1[0-2])\.[a-z0-9.-]+(:[^\s"]+)?|eui\.[0-9a-fA-F]{16}|naa\.[0-9a-fA-F]{16,32})$`)

func (c *checker) iscsi(iscsi *StorageISCSI, at *strictyaml.Path) {
	if iscsi == nil {
		return
	}
	for i, address := range iscsi.Listen {
		here := at.Key("listen").Index(i)
		if address.IsValid() && address.IsUnspecified() && len(iscsi.Listen) > 1 {
			c.cluster(here, fault{What: "stands beside other addresses", Rule: address.String() + " is all addresses of the box", Do: "remove it or the others"})
		}
		if address.IsLoopback() || address.IsMulticast() {
			c.cluster(here, fault{What: "is no address that nodes reach", Got: address.String(), Do: "write an address of the box in their network"})
		}
		for before, other := range iscsi.Listen[:i] {
			if address.IsValid() && address == other {
				c.cluster(here, fault{What: "is there twice", Rule: "listen[" + strconv.Itoa(before) + "] has the same", Got: address.String(), Do: "remove one of them"})
			}
		}
	}
	for i, name := range iscsi.Initiators {
		here := at.Key("initiators").Index(i)
		if !iqn.MatchString(name) {
			c.cluster(here, fault{What: "is not the name of an initiator", Rule: "iqn.YYYY-MM.DOMAIN, then : and a name", Got: name, Do: "write it as /etc/iscsi/initiatorname.iscsi of the client has it"})
		}
		for before, other := range iscsi.Initiators[:i] {
			if name == other {
				c.cluster(here, fault{What: "is there twice", Rule: "initiators[" + strconv.Itoa(before) + "] has the same", Got: name, Do: "remove one of them"})
			}
		}
	}
	if extensions := c.inv.Cluster.Talos.Schematic.Extensions; !slices.Contains(extensions, iscsiTools) {
		c.cluster(at, fault{
			What: "is of no use to Talos", Rule: "it mounts iSCSI volumes with " + iscsiTools + " only", Do: "add " + iscsiTools + " to talos.schematic.extensions",
		})
	}
}
