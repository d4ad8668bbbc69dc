package vmconfig

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// CloudInit is the content of the cloud-init drive.
type CloudInit struct {
	// Cards has one entry per network card, in the order of the cards.
	Cards       []CloudInitCard
	Nameservers []netip.Addr
	Hostname    string
}

// CloudInitCard is the addressing of one card. It is empty for a card without static addresses.
type CloudInitCard struct {
	Addresses []netip.Prefix
	Gateways  []netip.Addr
}

// HasCloudInit reports whether a cloud-init drive is attached.
func (c *Config) HasCloudInit() bool {
	for _, key := range c.DriveKeys() {
		d := Drive{Options: schema.Properties{"file": volumePart(c.Get(key))}}
		if d.CloudInit() {
			return true
		}
	}

	return false
}

func volumePart(drive string) string {
	for i := range len(drive) {
		if drive[i] == ',' {
			return drive[:i]
		}
	}

	return drive
}

// CloudInit parses the cloud-init settings. Without a cloud-init drive the result is empty.
func (c *Config) CloudInit() (CloudInit, error) {
	if !c.HasCloudInit() {
		return CloudInit{}, nil
	}

	ci := CloudInit{Hostname: c.Get("name")}

	for _, key := range c.NetworkKeys() {
		card, err := parseIPConfig(c.Get("ipconfig" + strconv.Itoa(slotIndex(key))))
		if err != nil {
			return CloudInit{}, fmt.Errorf("ipconfig%d: %w", slotIndex(key), err)
		}

		ci.Cards = append(ci.Cards, card)
	}

	for _, text := range schema.SplitList(c.Get("nameserver")) {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return CloudInit{}, fmt.Errorf("nameserver: %w", err)
		}

		ci.Nameservers = append(ci.Nameservers, addr)
	}

	return ci, nil
}

func parseIPConfig(text string) (CloudInitCard, error) {
	var card CloudInitCard

	fields := (&schema.Property{Format: schema.Format{Name: "pve-qm-ipconfig"}}).Fields()

	options, err := schema.ParseProperties(fields, text)
	if err != nil {
		return card, err
	}

	for _, name := range []string{"ip", "ip6"} {
		if prefix, err := netip.ParsePrefix(options[name]); err == nil {
			card.Addresses = append(card.Addresses, prefix)
		}
	}

	for _, name := range []string{"gw", "gw6"} {
		if addr, err := netip.ParseAddr(options[name]); err == nil {
			card.Gateways = append(card.Gateways, addr)
		}
	}

	return card, nil
}
