package systems

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// archive is the ending of a template of containers, as Proxmox VE takes it (pve-storage, PVE/Storage.pm, $VZTMPL_EXT_RE_1).
var archive = regexp.MustCompile(`\.tar\.(gz|xz|zst|bz2)$`)

// File returns the name that the file of an image gets on its host, where it is removed again. Its ending is the format, which Proxmox VE
// checks: raw if the URL says so, else qcow2, which Ubuntu's .img is.
func (i Image) File() string {
	format := "qcow2"
	if strings.HasSuffix(i.URL.Path, ".raw") {
		format = "raw"
	}
	return fmt.Sprintf("%s-%d.%s", i.Name, i.VMID, format)
}

// File returns the name that the file of a template of containers gets on its hosts. The name in the URL cannot be used: images.linuxcontainers.org
// calls every template rootfs.tar.xz, and a host refuses to download a file if it has one with the same name and another checksum (pve-common,
// Tools.pm, download_file_from_url).
func (t ContainerTemplate) File() string {
	return fileOf(t.Name, t.Checksum, archive.FindString(t.URL.Path))
}

// fileOf returns a name with the beginning of the checksum, so that another file has another name, and none is ever overwritten.
func fileOf(name string, checksum Checksum, ending string) string {
	const enough = 16 // hex digits
	_, digits, _ := strings.Cut(string(checksum), ":")
	return fmt.Sprintf("%s-%.*s%s", name, enough, digits, ending)
}

// sources checks what the systems are made from, and that each is there for its systems.
func (c *checker) sources() {
	images, templates := map[string]Image{}, map[string]*strictyaml.Path{}
	for i, image := range c.inv.File.Images {
		images[image.Name] = image
		c.image(image, key("images").Index(i).Key("url"))
	}
	for i, template := range c.inv.File.ContainerTemplates {
		at := key("containerTemplates").Index(i)
		c.dnsLabel(template.Name, at.Key("name"))
		c.unique(templates, template.Name, at)
		if template.URL.Path != "" && !archive.MatchString(template.URL.Path) {
			c.report(at.Key("url"), fault{What: "is no template of containers", Rule: "its file ends with .tar.gz, .tar.xz, .tar.zst or .tar.bz2", Got: template.URL.String(), Do: "name another file"})
		}
	}
	for i, machine := range c.inv.File.VirtualMachines {
		at := key("virtualMachines").Index(i).Key("image")
		image, known := images[machine.Image]
		switch {
		case machine.Image == "": // see appliances
		case !known:
			c.report(at, unknownSource("image", "images", machine.Image, images))
		case image.Host != machine.Host:
			c.report(at, fault{What: "is on another host", Rule: "a machine is cloned from a template on its own", Got: machine.Image + " on " + image.Host, Do: "add an image with host: " + machine.Host + " and a VMID of its own"})
		}
	}
	for i, container := range c.inv.File.Containers {
		if container.Template != "" && templates[container.Template] == nil {
			c.report(key("containers").Index(i).Key("template"), unknownSource("template", "containerTemplates", container.Template, templates))
		}
	}
}

// unknownSource returns the fault of a name that the file does not have.
func unknownSource[T any](noun, list, name string, known map[string]T) fault {
	problem := fault{What: "names no " + noun, Rule: "its name in " + list, Got: name, Do: "add it to " + list}
	if near := strictyaml.Nearest(name, slices.Sorted(maps.Keys(known))); near != "" {
		problem.Do = "did you mean " + near + "?"
	}
	return problem
}

// image checks that Proxmox VE can import the file: Proxmox VE decompresses no files of this content type (pve-storage, API2/Storage/Status.pm).
func (c *checker) image(image Image, at *strictyaml.Path) {
	file := path.Base(image.URL.Path)
	problem := fault{Got: image.URL.String()}
	switch {
	case image.URL.Path == "" || strings.HasSuffix(file, ".qcow2") || strings.HasSuffix(file, ".img") || strings.HasSuffix(file, ".raw"):
		return
	case strings.HasSuffix(file, ".xz") || strings.HasSuffix(file, ".gz") || strings.HasSuffix(file, ".zst") || strings.HasSuffix(file, ".bz2"):
		problem.What, problem.Rule, problem.Do = "is compressed", "Proxmox VE decompresses no disk image", "name a file that is not, or offer it unpacked on a server of yours"
	default:
		problem.What, problem.Rule, problem.Do = "is no disk image", "its file ends with .qcow2, .img or .raw", "name another file"
	}
	c.report(at, problem)
}
