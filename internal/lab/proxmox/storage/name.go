package storage

import (
	"fmt"
	"regexp"
	"strings"
)

// The valid names of volumes, without their storage (pve-storage Plugin.pm, parse_volname and parse_name_dir;
// ZFSPoolPlugin.pm, LvmThinPlugin.pm, RBDPlugin.pm, parse_volname).
var (
	ownedFile    = regexp.MustCompile(`^\d+/(?:(\S+)/\d+/)?(\S+)$`)
	imageFile    = regexp.MustCompile(`^[^/\s]+\.(?:raw|qcow2|vmdk|subvol)$`)
	templateFile = regexp.MustCompile(`(?i)^[^/]+\.tar\.(?:gz|xz|zst|bz2)$`)
	importFile   = regexp.MustCompile(`^[a-zA-Z0-9.+=_-]+\.(ova|qcow2|raw|vmdk)$`)
	otherFile    = regexp.MustCompile(`^(?:iso/[^/]+\.(?i:iso|img)|vztmpl/[^/]+\.tar\.(?:gz|xz|zst|bz2)|` +
		`backup/[^/]+\.(?:tgz|(?:tar|vma)(?:\.(?:gz|lzo|zst|bz2))?)|snippets/[^/]+|import/[^/]+\.(?:ova|ovf|qcow2|raw|vmdk))$`)
	dataset = regexp.MustCompile(`^(?:(?:base|basevol)-\d+-\S+/)?(?:base|basevol|vm|subvol)-\d+-\S+$`)
	logical = regexp.MustCompile(`^(?:vm|base)-\d+-\S+$`)
	rbdName = regexp.MustCompile(`^(?:base-\d+-\S+/)?(?:base|vm)-\d+-\S+$`)
)

// CheckName returns Proxmox VE's error for an invalid volume name.
func (s *Definition) CheckName(volume string) error {
	name := strings.TrimPrefix(volume, s.ID+":")

	switch {
	case s.Type.FileBased():
		return checkFileName(name)
	case s.Type == ZFSPool && !dataset.MatchString(name):
		return fmt.Errorf("unable to parse zfs volume name '%s'", name)
	case s.Type == LVMThin && !logical.MatchString(name):
		return fmt.Errorf("unable to parse lvm volume name '%s'", name)
	case s.Type == RBD && !rbdName.MatchString(name):
		return fmt.Errorf("unable to parse rbd volume name '%s'", name)
	default:
		return nil
	}
}

func checkFileName(name string) error {
	if match := ownedFile.FindStringSubmatch(name); match != nil {
		for _, file := range match[1:] {
			if file != "" && !imageFile.MatchString(file) {
				return fmt.Errorf("unable to parse volume filename '%s'", file)
			}
		}

		return nil
	}

	if !otherFile.MatchString(name) {
		return fmt.Errorf("unable to parse directory volume name '%s'", name)
	}

	return nil
}

var isoName = regexp.MustCompile(`(?i)\.(?:iso|img)$`)

// IsISOName reports whether a file or volume has the name of an ISO image (pve-storage Storage.pm, ISO_EXT_RE_0).
func IsISOName(name string) bool { return isoName.MatchString(name) }

// IsTemplateName reports whether a file has the name of a container template (pve-storage Storage.pm, VZTMPL_EXT_RE_1).
func IsTemplateName(name string) bool { return templateFile.MatchString(name) }

// ImportFormat returns the format in the name of a disk image; ok is false for a name that cannot be imported
// (pve-storage Storage.pm, UPLOAD_IMPORT_EXT_RE_1).
func ImportFormat(name string) (format string, ok bool) {
	match := importFile.FindStringSubmatch(name)
	if match == nil {
		return "", false
	}

	return match[1], true
}

// TemplateFormat returns the format of a container template in lists (pve-storage Plugin.pm, get_subdir_files).
func TemplateFormat(name string) string {
	_, compression, _ := strings.Cut(name, ".tar.")

	return "t" + strings.ToLower(compression)
}
