package pve

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// Image is a file on the internet that a host downloads: the disk image of a system, the template of containers, or an ISO.
type Image struct {
	// Host that downloads it.
	Host string
	// Volume is the ID that it gets in Proxmox VE: STORAGE:import/FILE, STORAGE:vztmpl/FILE or STORAGE:iso/FILE.
	Volume string
	// URL of the file.
	URL string
	// Algorithm and Checksum, hexadecimal, are what the file must have, e.g. sha512.
	Algorithm, Checksum string
}

// split returns the storage, the content type and the name of the file.
func (i Image) split() (storage, content, file string, err error) {
	storage, path, _ := strings.Cut(i.Volume, ":")
	content, file, _ = strings.Cut(path, "/")
	if storage == "" || !slices.Contains([]string{"import", "vztmpl", "iso"}, content) || file == "" || strings.Contains(file, "/") {
		return "", "", "", fmt.Errorf("%q is no volume of an image: give STORAGE:import/FILE, STORAGE:vztmpl/FILE or STORAGE:iso/FILE", i.Volume)
	}
	return storage, content, file, nil
}

// compressions are the endings of ISOs that a host decompresses as it downloads them, with their names in Proxmox VE (pve-storage,
// PVE/Storage.pm, decompressor_info).
var compressions = []string{"gz", "bz2", "zst"}

// compression returns how an ISO is compressed at its source; "" if it is not, and for any other file, which Proxmox VE does not decompress.
func (i Image) compression() string {
	source, err := url.Parse(i.URL)
	if err != nil || !strings.Contains(i.Volume, ":iso/") {
		return ""
	}
	at := slices.IndexFunc(compressions, func(ending string) bool { return strings.HasSuffix(strings.ToLower(source.Path), "."+ending) })
	if at < 0 {
		return ""
	}
	return compressions[at]
}

// EnsureImage makes the host download a file. The host keeps a file of that name that has the checksum, and refuses one with another (pve-common
// Tools.pm, download_file_from_url): nothing is ever overwritten. The checksum of a compressed ISO is not that of the file that the host has
// afterwards, so an existing file of that name counts as the ISO.
func (c Connection) EnsureImage(ctx context.Context, image Image) error {
	storage, content, file, err := image.split()
	if err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	path := nodePath(image.Host, "storage/"+url.PathEscape(storage)+"/download-url")
	params := map[string]any{
		"content": content, "filename": file, "url": image.URL, "checksum": image.Checksum, "checksum-algorithm": image.Algorithm,
	}
	if compression := image.compression(); compression != "" {
		there, err := Reader{client}.HasISO(ctx, ISO{Host: image.Host, Volume: image.Volume})
		if err != nil || there {
			return err
		}
		params["compression"] = compression
	}
	if err := c.work(ctx, client, post, path, params); err != nil {
		return fmt.Errorf("%s cannot download %s to %s (%w): mend that, then run up again", image.Host, image.URL, image.Volume, err)
	}
	return nil
}

// ImageTemplate is a template in Proxmox VE whose disk is a disk image, for machines to be cloned from.
type ImageTemplate struct {
	// Image is the disk image; its file is removed from the host when the template has it.
	Image Image
	// VMID and Name of the template.
	VMID int
	Name string
	// Storage of its disk.
	Storage string
}

// mark is the text in the description that identifies a template of em-infra with this image.
func (t ImageTemplate) mark() string { return madeHere + t.Image.URL + t.ofFile() }

// ofFile is the end of the mark. Where the file came from does not matter: another address of the same file is the same image.
func (t ImageTemplate) ofFile() string {
	return fmt.Sprintf(", %s:%s.", t.Image.Algorithm, t.Image.Checksum)
}

// isMark reports whether a description says that a template was made from the image.
func (t ImageTemplate) isMark(description string) bool {
	return IsImageTemplate(description) && strings.HasSuffix(description, t.ofFile())
}

// madeHere is the beginning of every such mark.
const madeHere = "Made by em-infra from "

// IsImageTemplate reports whether a description is that of a template that em-infra has made from an image, no matter which one. The description
// names no stack.
func IsImageTemplate(description string) bool { return strings.HasPrefix(description, madeHere) }

// EnsureImageTemplate makes a template unless there is one of that VMID with the same image, and reports whether it made one. It continues the work
// of a run that was interrupted while it made the template. It never touches another guest.
func (c Connection) EnsureImageTemplate(ctx context.Context, t ImageTemplate) (made bool, err error) {
	host, err := NewHost(c)
	if err != nil {
		return false, err
	}
	return c.ensureImageTemplate(ctx, host, t)
}

func (c Connection) ensureImageTemplate(ctx context.Context, host Host, t ImageTemplate) (made bool, err error) {
	there, err := c.imageTemplate(ctx, host, t)
	if err != nil {
		return false, err
	}
	if there {
		return false, c.removeLeftFile(ctx, host.client, t.Image)
	}
	if err := c.EnsureImage(ctx, t.Image); err != nil {
		return false, err
	}
	err = c.work(ctx, host.client, post, nodePath(t.Image.Host, "qemu"), map[string]any{
		"vmid": t.VMID, "name": t.Name, "description": t.mark(), "template": 1, "ostype": "l26", "machine": "q35",
		"scsihw": "virtio-scsi-single", hardware.SystemDrive: t.Storage + ":0,import-from=" + t.Image.Volume + ",iothread=1,discard=on,ssd=1",
		"boot": "order=" + hardware.SystemDrive, "serial0": "socket", "memory": "512", "cores": 1,
	})
	if err != nil {
		return false, fmt.Errorf("the template %s (VM %d) cannot be made on %s (%w): mend that, then run up again", t.Name, t.VMID, t.Image.Host, err)
	}
	return true, c.removeFile(ctx, host.client, t.Image)
}

// imageTemplate reports whether the template exists. The error says what is in its place.
func (c Connection) imageTemplate(ctx context.Context, host Host, t ImageTemplate) (bool, error) {
	guests, err := Reader{host.client}.Guests(ctx)
	if err != nil {
		return false, c.explain(err)
	}
	at := slices.IndexFunc(guests, func(guest Guest) bool { return guest.VMID == t.VMID })
	if at < 0 {
		return false, nil
	}
	guest := guests[at]
	if guest.Type == TypeVM && guest.Node == t.Image.Host {
		if free, err := c.clearUnfinished(ctx, host, guest); err != nil || free {
			return false, err
		}
	}
	found, err := c.describedAs(ctx, host.client, guest.Node, guest.Type, guest.VMID)
	switch {
	case err != nil:
		return false, err
	case t.isMark(found) && guest.Node == t.Image.Host:
		return true, nil
	default:
		return false, fmt.Errorf("VMID %d is %s (%s) on %s, which is not the template %s of this image: choose another VMID for the image", t.VMID, guest.Name, guest.Type, guest.Node, t.Name)
	}
}

// describedAs returns the description of a guest.
func (c Connection) describedAs(ctx context.Context, client *proxmox.Client, node, kind string, vmid int) (string, error) {
	var config struct {
		Description string `json:"description"`
	}
	err := client.Get(ctx, nodePath(node, fmt.Sprintf("%s/%d/config", kind, vmid)), &config)
	return strings.TrimSpace(config.Description), err
}

// ImageTemplateRelease is the result of the release of a template.
type ImageTemplateRelease string

const (
	// TemplateDeleted means that it was deleted.
	TemplateDeleted ImageTemplateRelease = "deleted"
	// TemplateGone means that it did not exist.
	TemplateGone ImageTemplateRelease = "gone before"
	// TemplateForeign means that the guest of that VMID was not made by em-infra from an image, so it stays.
	TemplateForeign ImageTemplateRelease = "kept: em-infra did not make it"
)

// ReleaseImageTemplate deletes a template that em-infra has made from an image.
func (c Connection) ReleaseImageTemplate(ctx context.Context, host string, vmid int) (ImageTemplateRelease, error) {
	client, err := c.Client()
	if err != nil {
		return "", err
	}
	text, err := c.describedAs(ctx, client, host, "qemu", vmid)
	switch {
	case err != nil && strings.Contains(err.Error(), "does not exist"):
		return TemplateGone, nil
	case err != nil:
		return "", c.explain(err)
	case !IsImageTemplate(text):
		return TemplateForeign, nil
	}
	path := nodePath(host, fmt.Sprintf("qemu/%d?purge=1&destroy-unreferenced-disks=1", vmid))
	if err := c.work(ctx, client, remove, path, nil); err != nil {
		return "", fmt.Errorf("the template VM %d on %s cannot be deleted (%w): mend that, then run again", vmid, host, err)
	}
	return TemplateDeleted, nil
}

// removeLeftFile removes the file of an image that an interrupted run has left on the host.
func (c Connection) removeLeftFile(ctx context.Context, client *proxmox.Client, image Image) error {
	storage, _, _, err := image.split()
	if err != nil {
		return err
	}
	volumes, err := Reader{client}.Volumes(ctx, image.Host, storage)
	if err != nil {
		return fmt.Errorf("what storage %s of %s holds cannot be read (%w): see that it is there and active, then run up again", storage, image.Host, err)
	}
	if !slices.ContainsFunc(volumes, func(volume Volume) bool { return volume.ID == image.Volume }) {
		return nil
	}
	return c.removeFile(ctx, client, image)
}

// removeFile removes the file of an image from the host.
func (c Connection) removeFile(ctx context.Context, client *proxmox.Client, image Image) error {
	storage, _, _, err := image.split()
	if err != nil {
		return err
	}
	path := nodePath(image.Host, "storage/"+url.PathEscape(storage)+"/content/"+url.PathEscape(image.Volume))
	if err := c.work(ctx, client, remove, path, nil); err != nil {
		return fmt.Errorf("%s cannot be removed from %s (%w): it is not needed any more, remove it by hand", image.Volume, image.Host, err)
	}
	return nil
}
