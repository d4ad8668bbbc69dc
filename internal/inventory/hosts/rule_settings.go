package hosts

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// timeZone is the form of a name of the time zone database; the host refuses one that it does not have.
var timeZone = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)

// repositoryHandle is the form of a handle (proxmox-apt, repositories/standard.rs). Only the host knows which releases of Ceph there are.
var repositoryHandle = regexp.MustCompile(`^(ceph-[a-z]+-)?(enterprise|no-subscription|test)$`)

// settings checks the time zone, the names and the repositories of a host.
func (c *checker) settings(host Host, at *strictyaml.Path) {
	if zone := host.TimeZone; zone != "" && !timeZone.MatchString(zone) {
		c.report(at.Key("timeZone"), fault{What: "is no time zone", Rule: "a name of `timedatectl list-timezones`", Got: zone, Do: "write one like Europe/Berlin or UTC"})
	}
	c.hostNames(host, at.Key("names"))
	var handles []string
	for _, repository := range host.Repositories {
		handles = append(handles, repository.Handle)
	}
	for i, handle := range handles {
		at := at.Key("repositories").Index(i).Key("handle")
		if handle != "" && !repositoryHandle.MatchString(handle) {
			c.report(at, fault{What: "is no standard repository", Rule: "enterprise, no-subscription or test, for Ceph with ceph-RELEASE- before it", Got: handle, Do: "write one of these"})
		}
		if first := slices.Index(handles, handle); handle != "" && first < i {
			c.report(at, fault{What: "is given twice", Got: handle, Do: "remove one of the two"})
		}
	}
}

// hostNames checks the lines of /etc/hosts: an address once, a name once for a family, and nothing that the host needs for itself.
func (c *checker) hostNames(host Host, at *strictyaml.Path) {
	taken := map[string]*strictyaml.Path{}
	for i, line := range host.Names {
		address := line.Address
		at := at.Index(i)
		switch {
		case !address.IsValid():
		case address.IsUnspecified() || address.IsMulticast() || address.IsLoopback() || address.Zone() != "":
			c.report(at.Key("address"), fault{What: "is no address that a name can have", Rule: "not loopback, multicast or unspecified, and without a zone", Got: address.String(), Do: "correct it"})
		case slices.IndexFunc(host.Names, func(other HostNames) bool { return other.Address == address }) < i:
			c.report(at.Key("address"), fault{What: "is given twice", Got: address.String(), Do: "write all its names in one line"})
		}
		for n, name := range line.Names {
			c.hostName(host.Name, address, name, at.Key("names").Index(n), taken)
		}
	}
}

func (c *checker) hostName(host string, address netip.Addr, name string, at *strictyaml.Path, taken map[string]*strictyaml.Path) {
	label, _, _ := strings.Cut(name, ".")
	family := "IPv4 "
	if address.Is6() {
		family = "IPv6 "
	}
	first := taken[family+name]
	switch {
	case name == "":
	case len(validation.IsDNS1123Subdomain(strings.ToLower(name))) > 0:
		c.report(at, fault{What: "is no DNS name", Got: name, Do: "write one like nas.home.example"})
	case label == host || label == "localhost":
		c.report(at, fault{What: "is a name of the host itself", Rule: "Proxmox VE needs its own line", Got: name, Do: "remove it"})
	case first != nil:
		c.report(at, fault{What: "is a name at " + first.String() + " too", Rule: "a name has one address", Got: name, Do: "remove one of the two"})
	default:
		taken[family+name] = at
	}
}
