package nodes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// standard is a repository of Proxmox that is added by its handle (proxmox-rs, proxmox-apt/src/repositories/standard.rs, as of April 2025
// for 8.4 and of November 2025 for 9.1).
type standard struct {
	Handle      string `json:"handle"`
	Status      *int   `json:"status,omitempty"`
	Name        string `json:"name"`
	Description string `json:"description"`

	uri, component, path string
	// ofProduct is set for those of Proxmox VE itself, without Ceph.
	ofProduct bool
}

const (
	sourcesFolder = "/etc/apt/sources.list.d/"
	sourcesList   = "/etc/apt/sources.list"
	keyring       = "/usr/share/keyrings/proxmox-archive-keyring.gpg"
	enterpriseURI = "https://enterprise.proxmox.com/debian/"
	downloadURI   = "http://download.proxmox.com/debian/"
)

// channel is a kind of repository that every product of Proxmox has.
type channel struct{ handle, name, base, product, ceph string }

var channels = []channel{
	{
		"enterprise", "Enterprise", enterpriseURI,
		"This is the default, stable, and recommended repository, available for all Proxmox subscription users.",
		"This repository holds the production-ready Proxmox Ceph %s packages.",
	},
	{
		"no-subscription", "No-Subscription", downloadURI,
		"This is the recommended repository for testing and non-production use. Its packages are not as heavily tested and validated as the " +
			"production ready enterprise repository. You don't need a subscription key to access this repository.",
		"This repository holds the Proxmox Ceph %s packages intended for non-production use.",
	},
	{
		"test", "Test", downloadURI,
		"This repository contains the latest packages and is primarily used for test labs and by developers to test new features.",
		"This repository contains the Ceph %s packages before they are moved to the main repository.",
	},
}

// mainAlias is an additional sentence in the description of one repository.
const mainAlias = " The deprecated 'main' repository is an alias for this in Proxmox VE 8."

// standards returns the standard repositories of a release, in the order of the API.
func standards(release schema.Release) []standard {
	ending, cephs := ".sources", []string{"Squid"}
	if release == schema.Release84 {
		ending, cephs = ".list", []string{"Quincy", "Reef", "Squid"}
	}

	var list []standard

	for _, c := range channels {
		list = append(list, standard{
			Handle: c.handle, Name: c.name, Description: c.product, uri: c.base + "pve", component: productComponent(release, c),
			path: productPath(release, c), ofProduct: true,
		})
	}

	for _, ceph := range cephs {
		for _, c := range channels {
			description := fmt.Sprintf(c.ceph, ceph)
			if ceph == "Quincy" && c.handle == "no-subscription" {
				description += mainAlias
			}

			name := "ceph-" + strings.ToLower(ceph)
			list = append(list, standard{
				Handle: name + "-" + c.handle, Name: "Ceph " + ceph + " " + c.name, Description: description, uri: c.base + name,
				component: c.handle, path: sourcesFolder + "ceph" + ending,
			})
		}
	}

	return list
}

func productComponent(release schema.Release, c channel) string {
	if release == schema.Release84 && c.handle == "test" {
		return "pvetest"
	}

	return "pve-" + c.handle
}

func productPath(release schema.Release, c channel) string {
	enterprise, older := c.handle == "enterprise", release == schema.Release84

	switch {
	case enterprise && older:
		return sourcesFolder + "pve-enterprise.list"
	case enterprise:
		return sourcesFolder + "pve-enterprise.sources"
	case older:
		return sourcesList
	default:
		return sourcesFolder + "proxmox.sources"
	}
}

// findStandard returns the standard repository of a handle. The error is that of the decoder for a handle that it does not know.
func findStandard(release schema.Release, handle string) (standard, error) {
	known := standards(release)

	at := slices.IndexFunc(known, func(s standard) bool { return s.Handle == handle })
	if at >= 0 {
		return known[at], nil
	}

	handles := make([]string, len(known))
	for i, s := range known {
		handles[i] = "`" + s.Handle + "`"
	}

	return standard{}, fmt.Errorf("error: unknown variant `%s`, expected one of %s", handle, strings.Join(handles, ", "))
}

// isReferencedBy reports whether a repository is the standard one (proxmox-apt repository.rs, is_referenced_repository).
func (s standard) isReferencedBy(r repository, suite string) bool {
	uris := []string{s.uri}
	if s.ofProduct {
		uris = append(uris, strings.TrimSuffix(s.uri, "/pve"))
	}

	return slices.Contains(r.Types, "deb") && slices.Contains(r.Suites, suite) && slices.Contains(r.Components, s.component) &&
		slices.ContainsFunc(r.URIs, func(uri string) bool { return slices.Contains(uris, strings.TrimRight(uri, "/")) })
}

// repository returns the entry for a file.
func (s standard) repository(release schema.Release) repository {
	made := repository{
		Types: []string{"deb"}, URIs: []string{s.uri}, Suites: []string{suiteOf(release)}, Components: []string{s.component},
		FileType: fileType(release), Enabled: 1,
	}
	if release != schema.Release84 {
		made.Options = []repositoryOption{{Key: "Signed-By", Values: []string{keyring}}}
	}

	return made
}
