package nodes

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// hostsFile is the file /etc/hosts of a host in the API.
type hostsFile struct {
	Data   string `json:"data"`
	Digest string `json:"digest"`
}

// installedHosts is what the installer writes: the address of the host, its name and its domain (pve-installer Proxmox/Install.pm,
// extract_data).
const installedHosts = `127.0.0.1 localhost.localdomain localhost
%[1]s %[2]s.%[3]s %[2]s

# The following lines are desirable for IPv6 capable hosts

::1     ip6-localhost ip6-loopback
fe00::0 ip6-localnet
ff00::0 ip6-mcastprefix
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
ff02::3 ip6-allhosts
`

// firstAddress is that of the first host whose bridges have none in the lab's description; the next hosts have the next ones.
var firstAddress = netip.AddrFrom4([4]byte{192, 168, 20, 2})

// addressOf returns the address that the installer was given for a host.
func (s *Service) addressOf(node string) netip.Addr {
	host, _ := s.env.Nodes.Host(node)
	for _, bridge := range host.Bridges {
		if bridge.Address.IsValid() {
			return bridge.Address.Addr()
		}
	}

	address := firstAddress
	for range slices.Index(s.env.Nodes.Names(), node) {
		address = address.Next()
	}

	return address
}

// hostsOf returns the content of a host's file. The caller holds the lock.
func (s *Service) hostsOf(node string) string {
	if text, changed := s.hosts[node]; changed {
		return text
	}

	return fmt.Sprintf(installedHosts, s.addressOf(node), node, installed.Search)
}

// getHostsFile handles GET /nodes/{node}/hosts (pve-common INotify.pm, read_etc_hosts).
func (s *Service) getHostsFile(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	text := s.hostsOf(c.Node)

	return hostsFile{Data: text, Digest: api.Digest(text)}, nil
}

// setHostsFile handles POST /nodes/{node}/hosts, which replaces the file (API2/Nodes.pm, write_etc_hosts).
func (s *Service) setHostsFile(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if given := c.Params.Get("digest"); given != "" && given != api.Digest(s.hostsOf(c.Node)) {
		return nil, api.ErrModified
	}

	text := c.Params.Get("data")
	if err := checkHosts(text); err != nil {
		return nil, err
	}

	s.hosts[c.Node] = text
	s.env.Changed()

	return nil, nil
}

var (
	hostsName = regexp.MustCompile(`^[.\-a-zA-Z0-9]+$`)
	hostsSkip = regexp.MustCompile(`^\s*(?:#|$)`)
)

// checkHosts refuses lines that are no entry. A comment has a line of its own, and nothing stands before an address (pve-common
// INotify.pm, write_etc_hosts).
func checkHosts(text string) error {
	for line := range strings.SplitSeq(text, "\n") {
		if hostsSkip.MatchString(line) {
			continue
		}

		words := strings.Fields(line)

		address := words[0]
		if !strings.HasPrefix(line, address) {
			address = ""
		}

		if ip, err := netip.ParseAddr(address); err != nil || ip.Zone() != "" {
			return schema.BadParam("data", "Invalid IP '%s'", address)
		}

		for _, name := range words[1:] {
			if !hostsName.MatchString(name) {
				return schema.BadParam("data", "Invalid Hostname '%s'", name)
			}
		}
	}

	return nil
}
