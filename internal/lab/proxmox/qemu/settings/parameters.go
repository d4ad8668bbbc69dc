package settings

import (
	"net/http"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// NotSettings are the parameters of a change that are not settings of the VM.
var NotSettings = []string{
	"node", "vmid", "digest", "delete", "revert", "force", "skiplock", "background_delay", "import-working-storage",
}

// IsSetting reports whether a VM's configuration may contain the key (QemuServer.pm, option_exists).
func (r Reader) IsSetting(key string) bool {
	if slices.Contains([]string{"lock", "vmstate", "meta", "parent", "snaptime"}, key) {
		return true
	}

	method, ok := r.env.Schema.Method("POST", CreatePath)
	if !ok {
		return false
	}

	_, known := schema.Lookup(method.Parameters, key)

	return known && !slices.Contains(NotSettings, key)
}

// ResolveCDROM replaces the old name of the CD-ROM drive (API2/Qemu.pm, resolve_cdrom_alias).
func ResolveCDROM(params schema.Params) schema.Params {
	value := params.Get("cdrom")
	if value == "" {
		return params
	}

	resolved := params.Without("cdrom")
	resolved["ide2"] = schema.Scalar(value + ",media=cdrom")

	return resolved
}

// CheckDrives verifies the drives among the parameters and normalizes them (API2/Qemu.pm, check_drive_param).
func (r Reader) CheckDrives(params schema.Params) ([]*vmconfig.Drive, error) {
	var drives []*vmconfig.Drive

	for _, key := range params.Names() {
		if !vmconfig.IsDrive(key) || params.Get(key) == "" {
			continue
		}

		drive, err := r.ParseDrive(key, params.Get(key))
		if err != nil {
			return nil, err
		}

		if err := checkImport(drive); err != nil {
			return nil, err
		}

		if strings.Contains(drive.Volume(), ":iso/") && storage.IsISOName(drive.Volume()) && !drive.CDROM() {
			return nil, schema.BadParam(key, "explicit 'media=cdrom' is required for iso images")
		}

		if drive.CDROM() && drive.Options["format"] != "" {
			return nil, schema.BadParam(key, "unable to parse drive options")
		}

		drives = append(drives, drive)
	}

	return drives, nil
}

// checkImport checks the form of a request for a disk that is filled from another volume: it has no size of its own.
func checkImport(drive *vmconfig.Drive) error {
	if drive.Options["import-from"] == "" {
		return nil
	}

	if _, size, ok := drive.NewDisk(); !ok || size != "0" {
		return schema.BadParam(drive.Key, "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>")
	}

	needed := map[string][]string{"efidisk0": {"efitype", "pre-enrolled-keys"}, "tpmstate0": {"version"}}
	for _, option := range needed[drive.Key] {
		if drive.Options[option] == "" {
			return schema.BadParam(drive.Key, "need to specify '%s' when using 'import-from'", option)
		}
	}

	return nil
}

// Typed returns settings with their types in the API.
func (r Reader) Typed(values map[string]string) schema.Typed {
	method, _ := r.env.Schema.Method(http.MethodGet, "/nodes/{node}/qemu/{vmid}/config")

	return schema.Typed{Values: values, Declared: method.Returns.Properties}
}
