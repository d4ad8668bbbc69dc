package truenas

import (
	"context"
	"slices"
	"strings"
)

// Portal is where the iSCSI service listens.
type Portal struct {
	// Listen are addresses of the box; 0.0.0.0 for all. Required.
	Listen []string `json:"listen"`
	// Owner is the stack that creates it. Required.
	Owner string `json:"owner"`
}

type foundPortal struct {
	ID      int    `json:"id"`
	Comment string `json:"comment"`
	Listen  []struct {
		IP string `json:"ip"`
	} `json:"listen"`
}

func (p foundPortal) addresses() []string {
	list := make([]string, len(p.Listen))
	for i, one := range p.Listen {
		list[i] = one.IP
	}
	return list
}

// portal returns the portal of this stack, or else one that listens on one of the addresses: a box has one portal for an address.
func (c *Client) portal(ctx context.Context, wanted Portal) (*foundPortal, error) {
	var found []foundPortal
	if err := c.Call(ctx, &found, "iscsi.portal.query"); err != nil {
		return nil, err
	}
	for _, fits := range []func(foundPortal) bool{
		func(p foundPortal) bool { return p.Comment == ownerComment(wanted.Owner) },
		func(p foundPortal) bool {
			return slices.ContainsFunc(p.addresses(), func(a string) bool { return slices.Contains(wanted.Listen, a) })
		},
	} {
		if at := slices.IndexFunc(found, fits); at >= 0 {
			return &found[at], nil
		}
	}
	return nil, nil
}

// FindPortal returns the portal as it is; nil if there is none.
func (c *Client) FindPortal(ctx context.Context, wanted Portal) (*Portal, error) {
	found, err := c.portal(ctx, wanted)
	if err != nil || found == nil {
		return nil, err
	}
	return &Portal{Listen: sameOrder(found.addresses(), wanted.Listen), Owner: wanted.Owner}, nil
}

// WritePortal creates a portal, or changes the addresses of it.
func (c *Client) WritePortal(ctx context.Context, wanted Portal, _ *Portal) error {
	listen := make([]map[string]any, len(wanted.Listen))
	for i, address := range wanted.Listen {
		listen[i] = map[string]any{"ip": address}
	}
	there, err := c.portal(ctx, wanted)
	switch {
	case err != nil:
		return err
	case there == nil:
		return c.Call(ctx, nil, "iscsi.portal.create", map[string]any{"listen": listen, "comment": ownerComment(wanted.Owner)})
	default:
		return c.Call(ctx, nil, "iscsi.portal.update", there.ID, map[string]any{"listen": listen})
	}
}

// RemovePortal deletes a portal of this stack, unless a target uses it.
func (c *Client) RemovePortal(ctx context.Context, wanted Portal) (*Kept, error) {
	found, err := c.portal(ctx, wanted)
	if err != nil || found == nil {
		return nil, err
	}
	if found.Comment != ownerComment(wanted.Owner) {
		return &Kept{"the iSCSI portal of " + strings.Join(found.addresses(), ", ") + " stays on TrueNAS: it was there before this stack"}, nil
	}
	if used, err := c.usedByTarget(ctx, "portal", found.ID); err != nil || used != "" {
		return &Kept{"the iSCSI portal stays on TrueNAS: the target " + used + " uses it"}, err
	}
	return nil, gone(c.Call(ctx, nil, "iscsi.portal.delete", found.ID))
}

// usedByTarget returns the name of a target that refers to a portal or an initiator group; empty if none does. The box would remove it
// from the target without asking.
func (c *Client) usedByTarget(ctx context.Context, what string, ID int) (string, error) {
	var targets []struct {
		Name   string           `json:"name"`
		Groups []map[string]any `json:"groups"`
	}
	if err := c.Call(ctx, &targets, "iscsi.target.query"); err != nil {
		return "", err
	}
	for _, target := range targets {
		for _, group := range target.Groups {
			if number, is := group[what].(float64); is && int(number) == ID {
				return target.Name, nil
			}
		}
	}
	return "", nil
}

// InitiatorGroup is who may log in to targets.
type InitiatorGroup struct {
	// Initiators are IQNs. Default: none, everyone.
	Initiators []string `json:"initiators"`
	// Owner is the stack that creates it. Required.
	Owner string `json:"owner"`
}

type foundInitiatorGroup struct {
	ID         int      `json:"id"`
	Initiators []string `json:"initiators"`
	Comment    string   `json:"comment"`
}

func (c *Client) initiatorGroup(ctx context.Context, owner string) (*foundInitiatorGroup, error) {
	var found []foundInitiatorGroup
	err := c.Call(ctx, &found, "iscsi.initiator.query", []any{[]any{"comment", "=", ownerComment(owner)}})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// FindInitiatorGroup returns the group of this stack as it is; nil if there is none.
func (c *Client) FindInitiatorGroup(ctx context.Context, wanted InitiatorGroup) (*InitiatorGroup, error) {
	found, err := c.initiatorGroup(ctx, wanted.Owner)
	if err != nil || found == nil {
		return nil, err
	}
	return &InitiatorGroup{Initiators: sameOrder(found.Initiators, wanted.Initiators), Owner: wanted.Owner}, nil
}

// WriteInitiatorGroup creates a group, or changes its members.
func (c *Client) WriteInitiatorGroup(ctx context.Context, wanted InitiatorGroup, _ *InitiatorGroup) error {
	there, err := c.initiatorGroup(ctx, wanted.Owner)
	given := map[string]any{"initiators": append([]string{}, wanted.Initiators...)}
	switch {
	case err != nil:
		return err
	case there == nil:
		given["comment"] = ownerComment(wanted.Owner)
		return c.Call(ctx, nil, "iscsi.initiator.create", given)
	default:
		return c.Call(ctx, nil, "iscsi.initiator.update", there.ID, given)
	}
}

// RemoveInitiatorGroup deletes the group of this stack, unless a target uses it.
func (c *Client) RemoveInitiatorGroup(ctx context.Context, wanted InitiatorGroup) (*Kept, error) {
	found, err := c.initiatorGroup(ctx, wanted.Owner)
	if err != nil || found == nil {
		return nil, err
	}
	if used, err := c.usedByTarget(ctx, "initiator", found.ID); err != nil || used != "" {
		return &Kept{"the iSCSI initiator group stays on TrueNAS: the target " + used + " uses it"}, err
	}
	return nil, gone(c.Call(ctx, nil, "iscsi.initiator.delete", found.ID))
}
