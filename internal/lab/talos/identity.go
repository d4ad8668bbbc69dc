package talos

import (
	"fmt"
	"io"
	"math/big"

	"github.com/google/uuid"
	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// randomUUID returns an ID in the format of the kernel's boot ID, which Talos also uses for the actor of events.
func randomUUID(random io.Reader) (string, error) {
	id, err := uuid.NewRandomFromReader(random)
	if err != nil {
		return "", fmt.Errorf("make an identifier: %w", err)
	}

	return id.String(), nil
}

// randomNodeID returns a node's identity for cluster discovery: random bytes in base 62.
func randomNodeID(random io.Reader) (string, error) {
	raw := make([]byte, constants.DefaultNodeIdentitySize)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("make a node identity: %w", err)
	}

	return new(big.Int).SetBytes(raw).Text(62), nil
}
