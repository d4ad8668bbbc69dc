package inventory

import (
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// NASUser is the default of Storage.Username.
const NASUser = "em-infra"

// Storage is what the cluster has on a TrueNAS box: datasets, NFS shares, and where the iSCSI service listens. It is there before the
// machines are. em-infra logs in with the API key truenas.apiKey of secrets.sops.yaml, or of the environment.
type Storage struct {
	// Endpoint of the box, e.g. https://nas.example. Required. A change moves nothing: what the former box has stays there.
	Endpoint string `yaml:"endpoint" required:"true"`
	// Fingerprint is the SHA-256 of the box's certificate, 64 hexadecimal digits with or without colons. At most one of fingerprint
	// and caFile is given. Default: none, the certificate is verified.
	Fingerprint string `yaml:"fingerprint"`
	// CAFile is a file on this machine with the authority that signs the box's certificate, in PEM, relative to the folder of this
	// file. Default: none, the authorities of this machine.
	CAFile string `yaml:"caFile"`
	// Username is the user whose API key is used. Default: em-infra.
	Username string `yaml:"username" default:"em-infra"`
	// Pool is the ZFS pool that holds the datasets. Required. A change creates the datasets in the other pool, empty.
	Pool string `yaml:"pool" required:"true"`
	// Protect keeps everything on the box when it is removed from this file or the stack is destroyed. With false, empty datasets are deleted, and
	// others are kept unless EM_INFRA_DELETE_DATASETS names them. Default: true.
	Protect bool `yaml:"protect" default:"true"`
	// Datasets are filesystems below the pool. Required.
	Datasets []StorageDataset `yaml:"datasets" required:"true" min:"1" max:"50"`
	// ISCSI is the iSCSI service of the box. Default: none, it is not touched.
	ISCSI *StorageISCSI `yaml:"iscsi"`
}

// StorageDataset is a dataset that holds the volumes of a use. Properties that are not given are inherited from the dataset above.
type StorageDataset struct {
	// Name below the pool, e.g. k8s or k8s/nfs; the datasets above it stand before it in the list, or exist already. Required. A
	// change creates another dataset.
	Name string `yaml:"name" required:"true"`
	// QuotaGiB is what the dataset with all below it may take, in GiB. Default: none. A change is made in place.
	QuotaGiB int `yaml:"quotaGiB" min:"1" max:"1048576"`
	// RefQuotaGiB is what the dataset alone may take, in GiB, without what is below it. Default: none. A change is made in place.
	RefQuotaGiB int `yaml:"refquotaGiB" min:"1" max:"1048576"`
	// Compression of what is written from then on. Default: none, inherited. A change is made in place.
	Compression Compression `yaml:"compression"`
	// RecordSize is the largest block of files that are written from then on. Default: none, inherited. A change is made in place.
	RecordSize RecordSize `yaml:"recordSize"`
	// ShareType sets the access control of a new dataset for its use. Default: NFS if nfs is given, else GENERIC. A change
	// counts for new datasets only: one that is there stays as it is.
	ShareType ShareType `yaml:"shareType"`
	// NFS exports the dataset. Default: none.
	NFS *NFSShare `yaml:"nfs"`
}

// NFSShare is an NFS share of a dataset.
type NFSShare struct {
	// Networks that may mount it. Default: the nodes' networks. A change is made in place.
	Networks []netip.Prefix `yaml:"networks" min:"1" max:"100"`
	// MapRootUser is the user of the box that a client's root is mapped to. Default: none, root is mapped to nobody. A change is made in place.
	MapRootUser string `yaml:"mapRootUser"`
	// ReadOnly refuses writes. Default: false. A change is made in place.
	ReadOnly bool `yaml:"readOnly"`
}

// StorageISCSI is where the iSCSI service listens, and who may log in. A CSI driver makes targets and extents itself.
type StorageISCSI struct {
	// Listen are addresses of the box. Default: 0.0.0.0, all of them. A change is made in place.
	Listen []netip.Addr `yaml:"listen" default:"[0.0.0.0]" min:"1" max:"20"`
	// Initiators are the IQNs that may log in; they become parameters of the iscsi classes of addons.truenas.csi, whose driver makes a group of its own
	// for each volume. Default: none, everyone who reaches the box. A change is made in place, but Kubernetes refuses a change of the classes: delete
	// such a class first.
	Initiators []string `yaml:"initiators" max:"100"`
}

// Compression is an algorithm of ZFS.
type Compression string

// Choices returns the algorithms that are of use for volumes (truenas/middleware, api/v25_10_5/pool_dataset.py).
func (Compression) Choices() []string {
	return []string{"OFF", "LZ4", "ZSTD", "ZSTD-1", "ZSTD-3", "ZSTD-5", "ZSTD-9", "ZSTD-19", "GZIP", "ZLE"}
}

// UnmarshalText reads an algorithm.
func (c *Compression) UnmarshalText(text []byte) error { return choose(c, text) }

// RecordSize is a size of blocks.
type RecordSize string

// Choices returns the sizes of every pool (truenas/middleware, plugins/pool_/dataset_recordsize.py).
func (RecordSize) Choices() []string {
	return []string{"4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M"}
}

// UnmarshalText reads a size.
func (r *RecordSize) UnmarshalText(text []byte) error { return choose(r, text) }

// ShareType is what a dataset is used for.
type ShareType string

// The uses that are set by default.
const (
	// ShareGeneric is a dataset with POSIX permissions.
	ShareGeneric ShareType = "GENERIC"
	// ShareNFS is a dataset with NFSv4 access control lists.
	ShareNFS ShareType = "NFS"
)

// Choices returns the uses.
func (ShareType) Choices() []string {
	return []string{string(ShareGeneric), string(ShareNFS), "MULTIPROTOCOL"}
}

// UnmarshalText reads a use.
func (s *ShareType) UnmarshalText(text []byte) error { return choose(s, text) }

// Path returns the name of a dataset with its pool.
func (s Storage) Path(d StorageDataset) string { return s.Pool + "/" + d.Name }

// complete sets the defaults that depend on the nodes' network.
func (s *Storage) complete(network Network) {
	for at := range s.Datasets {
		dataset := &s.Datasets[at]
		if dataset.NFS == nil {
			dataset.ShareType = or(dataset.ShareType, ShareGeneric)
			continue
		}
		dataset.ShareType = or(dataset.ShareType, ShareNFS)
		if len(dataset.NFS.Networks) == 0 && network.CIDR.IsValid() {
			dataset.NFS.Networks = network.Subnets()
		}
	}
}

// storagePath is where the storage stands in cluster.yaml.
func storagePath() *strictyaml.Path { return key("storage") }
