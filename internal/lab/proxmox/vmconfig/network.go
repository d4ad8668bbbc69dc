package vmconfig

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

var networkKey = regexp.MustCompile(`^net(?:[12]?\d|3[01])$`)

// IsNetwork reports whether a setting is a network card.
func IsNetwork(key string) bool { return networkKey.MatchString(key) }

// NetworkKeys returns the used network cards, sorted by index.
func (c *Config) NetworkKeys() []string {
	keys := slices.DeleteFunc(c.Keys(), func(key string) bool { return !IsNetwork(key) })
	slices.SortFunc(keys, func(a, b string) int { return slotIndex(a) - slotIndex(b) })

	return keys
}

// Card is one network card of a VM.
type Card struct {
	Options schema.Properties

	fields map[string]*schema.Property
}

// ParseCard parses a network card.
func ParseCard(text string, fields map[string]*schema.Property) (*Card, error) {
	options, err := schema.ParseProperties(fields, text)
	if err != nil {
		return nil, err
	}

	return &Card{Options: options, fields: fields}, nil
}

// String returns the card in normal form: "virtio=BC:24:11:00:00:01,bridge=vmbr0".
func (c *Card) String() string { return schema.PrintProperties(c.fields, c.Options) }

// Bridge returns the bridge or VNet of the card.
func (c *Card) Bridge() string { return c.Options["bridge"] }

// MAC returns the card's MAC address.
func (c *Card) MAC() (net.HardwareAddr, error) { return net.ParseMAC(c.Options["macaddr"]) }

// macPrefix is the prefix of generated addresses: Proxmox Server Solutions GmbH (pve-cluster DataCenterConfig.pm,
// mac_prefix).
var macPrefix = []byte{0xBC, 0x24, 0x11}

// GenerateMAC sets a new random MAC address.
func (c *Card) GenerateMAC(random io.Reader) error {
	tail := make([]byte, 3)
	if _, err := io.ReadFull(random, tail); err != nil {
		return fmt.Errorf("generate a MAC address: %w", err)
	}

	c.Options["macaddr"] = strings.ToUpper(net.HardwareAddr(slices.Concat(macPrefix, tail)).String())

	return nil
}

// NewUUID generates a random UUID.
func NewUUID(random io.Reader) (string, error) {
	raw := make([]byte, 16)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("generate a UUID: %w", err)
	}

	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	text := hex.EncodeToString(raw)

	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-"), nil
}
