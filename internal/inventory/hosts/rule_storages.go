package hosts

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// kindOfStorage is what a type of storage requires, allows and holds (pve-storage, the functions options and plugindata of the plugins).
type kindOfStorage struct {
	required, allowed []string
	content           []Content
}

var (
	contentOfFolders = []Content{ContentImages, ContentRootDir, ContentTemplate, ContentISO, ContentBackup, ContentSnippets, ContentImport}
	contentOfVolumes = []Content{ContentImages, ContentRootDir}
)

var kindsOfStorages = map[StorageType]kindOfStorage{
	StorageDir:     {required: []string{"path"}, allowed: []string{"shared"}, content: contentOfFolders},
	StorageNFS:     {required: []string{"server", "export"}, allowed: []string{"options"}, content: contentOfFolders},
	StorageCIFS:    {required: []string{"server", "share"}, allowed: []string{"username", "domain", "options"}, content: contentOfFolders},
	StorageLVMThin: {required: []string{"volumeGroup", "thinPool"}, content: contentOfVolumes},
	StorageZFSPool: {required: []string{"zfsPool"}, allowed: []string{"sparse"}, content: contentOfVolumes},
	StoragePBS: {
		required: []string{"server", "datastore", "username"}, allowed: []string{"namespace", "fingerprint"}, content: []Content{ContentBackup},
	},
}

// setting is a key of a storage whose meaning depends on the type.
type setting struct{ key, value string }

// settings returns these keys in the order in which the file is described. An empty value means that the key is not given.
func (s Storage) settings() []setting {
	return []setting{
		{"path", s.Path}, {"shared", given(s.Shared)}, {"server", s.Server}, {"export", s.Export}, {"options", s.Options}, {"share", s.Share},
		{"username", s.Username}, {"domain", s.Domain}, {"datastore", s.Datastore}, {"namespace", s.Namespace},
		{"fingerprint", s.Fingerprint}, {"volumeGroup", s.VolumeGroup}, {"thinPool", s.ThinPool}, {"zfsPool", s.ZFSPool},
		{"sparse", given(s.Sparse)},
	}
}

func given(flag bool) string {
	if flag {
		return "true"
	}
	return ""
}

// storages checks the storages.
func (c *checker) storages() {
	taken := map[string]*strictyaml.Path{}
	for i, storage := range c.inv.File.Storages {
		at := key("storages").Index(i)
		c.name(limits.Storage, storage.Name, at.Key("name"))
		c.unique(taken, storage.Name, at.Key("name"))
		c.hostsOf(storage, at.Key("hosts"))
		if kind, known := kindsOfStorages[storage.Type]; known {
			c.settingsOf(storage, kind, at)
			c.contentOf(storage, kind, at.Key("content"))
		}
		c.formsOf(storage, at)
	}
}

// hostsOf checks the hosts that have a storage.
func (c *checker) hostsOf(storage Storage, at *strictyaml.Path) {
	for i, host := range storage.Hosts {
		c.hostOfFile(host, at.Index(i))
		if slices.Contains(c.inv.Hosts(), host) {
			c.notBefore(storage.Hosts, i, at)
		}
	}
}

// settingsOf checks that a storage has the settings of its type, and no others.
func (c *checker) settingsOf(storage Storage, kind kindOfStorage, at *strictyaml.Path) {
	for _, one := range storage.settings() {
		isRequired := slices.Contains(kind.required, one.key)
		switch {
		case isRequired && one.value == "":
			c.report(at, fault{What: "lacks " + one.key, Rule: "the type " + string(storage.Type) + " needs " + strings.Join(kind.required, ", "), Do: "add " + one.key})
		case !isRequired && one.value != "" && !slices.Contains(kind.allowed, one.key):
			c.report(at.Key(one.key), fault{What: "has no meaning for the type " + string(storage.Type), Rule: "its keys are " + strings.Join(append(slices.Clone(kind.required), kind.allowed...), ", "), Got: one.value, Do: "remove it, or correct the type"})
		}
	}
	if storage.Domain != "" && storage.Username == "" && storage.Type == StorageCIFS {
		c.report(at.Key("domain"), fault{What: "is of no user", Rule: "a guest has no domain", Got: storage.Domain, Do: "give username, too"})
	}
}

// contentOf checks what a storage is for.
func (c *checker) contentOf(storage Storage, kind kindOfStorage, at *strictyaml.Path) {
	for i, content := range storage.Content {
		switch {
		case content == "":
		case !slices.Contains(kind.content, content):
			c.report(at.Index(i), fault{What: "cannot be on a storage of the type " + string(storage.Type), Rule: "it takes " + joined(kind.content), Got: string(content), Do: "remove it, or correct the type"})
		case slices.Index(storage.Content, content) < i:
			c.report(at.Index(i), fault{What: "is given twice", Got: string(content), Do: "remove one of the two"})
		}
	}
}

func joined(content []Content) string {
	words := make([]string, len(content))
	for i, one := range content {
		words[i] = string(one)
	}
	return strings.Join(words, ", ")
}

// The forms that Proxmox VE requires (pve-storage, Storage/Plugin.pm, verify_path and parse_lvm_name; pve-common, JSONSchema.pm,
// fingerprint-sha256).
var (
	storagePath        = regexp.MustCompile(`^/[^;()\s]*$`)
	storageVolumeGroup = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$`)
	storageFingerprint = regexp.MustCompile(`^([A-Fa-f0-9]{2}:){31}[A-Fa-f0-9]{2}$`)
	storageBackupUser  = regexp.MustCompile(`^[^\s:/@!]+@[A-Za-z][A-Za-z0-9._-]*(![A-Za-z0-9_][A-Za-z0-9._-]*)?$`)
)

// formsOf checks the forms of the settings that are given.
func (c *checker) formsOf(storage Storage, at *strictyaml.Path) {
	check := func(key, value string, holds bool, rule, do string) {
		if value != "" && !holds {
			c.report(at.Key(key), fault{What: "is not valid in Proxmox VE", Rule: rule, Got: value, Do: do})
		}
	}
	_, noAddress := netip.ParseAddr(storage.Server)
	check("server", storage.Server, noAddress == nil || len(validation.IsDNS1123Subdomain(strings.ToLower(storage.Server))) == 0,
		"an address or a DNS name", "correct it")
	check("path", storage.Path, storagePath.MatchString(storage.Path), "an absolute path", "write one like /mnt/data")
	check("export", storage.Export, storagePath.MatchString(storage.Export), "an absolute path", "write one like /mnt/tank/proxmox")
	check("volumeGroup", storage.VolumeGroup, storageVolumeGroup.MatchString(storage.VolumeGroup), "letters, digits, -, _ and .", "see `vgs` on the host")
	check("thinPool", storage.ThinPool, storageVolumeGroup.MatchString(storage.ThinPool), "letters, digits, -, _ and .", "see `lvs` on the host")
	check("fingerprint", storage.Fingerprint, storageFingerprint.MatchString(storage.Fingerprint), "32 pairs of hexadecimal digits with colons between them",
		"run `proxmox-backup-manager cert info` on the backup server")
	check("username", storage.Username, storage.Type != StoragePBS || storageBackupUser.MatchString(storage.Username), "USER@REALM or USER@REALM!TOKEN",
		"write one like backup@pbs!proxmox")
}
