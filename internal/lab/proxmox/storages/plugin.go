package storages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// plugin is what a kind of storage accepts (pve-storage, the functions options and plugindata of the plugins).
type plugin struct {
	// fixed settings are required, and never change. The path of an NFS or a CIFS storage is set by its plugin.
	fixed []string
	// optional settings beside those that all plugins have.
	optional []string
	// content lists the content types; byDefault are those without the parameter.
	content, byDefault []string
	// shared storages are the same on every node (Plugin.pm, parse_config).
	shared bool
}

var (
	files     = []string{storage.Images, storage.RootDir, storage.Template, storage.ISO, storage.Backup, storage.Snippets, storage.Import}
	volumes   = []string{storage.Images, storage.RootDir}
	ofFolders = []string{
		"content-dirs", "prune-backups", "max-protected-backups", "format", "mkdir", "create-base-path", "create-subdirs", "bwlimit",
		"preallocation",
	}
)

var plugins = map[storage.Type]plugin{
	storage.Dir: {
		fixed: []string{"path"}, optional: append([]string{"shared", "is_mountpoint"}, ofFolders...), content: files, byDefault: volumes,
	},
	storage.NFS: {
		fixed: []string{"server", "export"}, optional: append([]string{"options"}, ofFolders...), content: files,
		byDefault: []string{storage.Images}, shared: true,
	},
	storage.CIFS: {
		fixed:    []string{"server", "share"},
		optional: append([]string{"username", "password", "domain", "subdir", "smbversion", "options"}, ofFolders...),
		content:  files, byDefault: []string{storage.Images}, shared: true,
	},
	storage.LVMThin: {fixed: []string{"thinpool", "vgname"}, optional: []string{"bwlimit"}, content: volumes, byDefault: volumes},
	storage.ZFSPool: {
		fixed: []string{"pool"}, optional: []string{"blocksize", "sparse", "mountpoint", "bwlimit"}, content: volumes, byDefault: volumes,
	},
	storage.PBS: {
		fixed:    []string{"server", "datastore"},
		optional: []string{"namespace", "port", "username", "password", "fingerprint", "prune-backups", "max-protected-backups"},
		content:  []string{storage.Backup}, byDefault: []string{storage.Backup}, shared: true,
	},
}

// ofEvery are the settings of every plugin. The service keeps nodes and content separately from the others.
var ofEvery = []string{"nodes", "content", "disable"}

// check refuses what the plugin does not take (pve-common SectionConfig.pm, check_config and check_value; pve-storage Plugin.pm,
// decode_value).
func (p plugin) check(params schema.Params, creates bool) error {
	for _, name := range params.Names() {
		isFixed := slices.Contains(p.fixed, name)

		switch {
		case isFixed && !creates:
			return fmt.Errorf("can't change value of fixed parameter '%s'", name)
		case !isFixed && !slices.Contains(p.optional, name) && !slices.Contains(ofEvery, name):
			return fmt.Errorf("unexpected property '%s'", name)
		}
	}

	for _, name := range p.fixed {
		if creates && !params.Has(name) {
			return fmt.Errorf("missing value for required option '%s'", name)
		}
	}

	for _, content := range params.List("content") {
		if !slices.Contains(p.content, content) {
			return fmt.Errorf("storage does not support content type '%s'", content)
		}
	}

	return nil
}

// checkDeletion refuses settings that cannot be unset (pve-storage API2/Storage/Config.pm, update).
func (p plugin) checkDeletion(names []string, params schema.Params) error {
	for _, name := range names {
		switch {
		case slices.Contains(p.fixed, name):
			return fmt.Errorf("unable to delete required option '%s'", name)
		case !slices.Contains(p.optional, name) && !slices.Contains(ofEvery, name):
			return fmt.Errorf("no such option '%s'", name)
		case params.Has(name):
			return fmt.Errorf("cannot set and delete property '%s' at the same time!", name)
		}
	}

	return nil
}

// activate returns the error of a storage that the first host cannot use. The lab's site has every pool, export and share that is named, and
// a backup server that refuses a login without a password (pve-storage PBSPlugin.pm, activate_storage and scan_datastores).
func activate(kind storage.Type, id string, params schema.Params) error {
	if kind == storage.PBS && params.Get("password") == "" {
		return fmt.Errorf("%s: error fetching datastores - 401 Unauthorized", id)
	}

	return nil
}

// set writes the settings of a call into a definition, without the password, which Proxmox VE keeps in a file of its own and never returns.
func set(d *storage.Definition, params schema.Params) {
	if params.Has("content") {
		d.Content = params.List("content")
	}

	if params.Has("nodes") {
		d.Nodes = params.List("nodes")
	}

	if params.Has("path") {
		d.Path = params.Get("path")
	}

	if params.Has("shared") {
		d.Shared = params.Bool("shared", false)
	}

	for _, name := range params.Without("content", "nodes", "path", "shared", "password").Names() {
		d.Options[name] = strings.TrimSpace(params.Get(name))
	}
}

// unset removes settings.
func unset(d *storage.Definition, names []string) {
	for _, name := range names {
		switch name {
		case "nodes":
			d.Nodes = nil
		case "content":
			d.Content = plugins[d.Type].byDefault
		case "shared":
			d.Shared = false
		default:
			delete(d.Options, name)
		}
	}
}
