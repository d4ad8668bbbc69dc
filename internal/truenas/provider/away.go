package provider

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"

	"github.com/em-infra/em-infra/internal/truenas"
)

// away returns why the box lets nobody in; nil if it does. That is tried once: the engine reads everything on a box, and one that never answers
// would cost a time limit each time.
func (p *Provider) away(ctx context.Context) error {
	p.trying.Do(func() {
		p.isAway = p.session.Do(p.until(ctx), func(context.Context, *truenas.Client) error { return nil })
	})
	return p.isAway
}

// unread returns an object as the state has it, since the box lets nobody in. It warns once.
func (p *Provider) unread(r plugin.ReadRequest, away error) plugin.ReadResponse {
	p.warning.Do(func() {
		p.warn(r.URN, "what this stack has on TrueNAS is not compared: "+away.Error())
	})
	return plugin.ReadResponse{ReadResult: plugin.ReadResult{ID: r.ID, Inputs: r.Inputs, Outputs: r.State}}
}

// forget deletes an object from the state alone if a person has said that the box is gone.
func (p *Provider) forget(r plugin.DeleteRequest, away error) error {
	if !truenas.IsGoneForGood(p.endpoint) {
		return fmt.Errorf("%w%s", away, truenas.OrGoneForGood(p.endpoint))
	}
	p.warn(r.URN, fmt.Sprintf("%s is forgotten: %s says that its box is gone for good", r.ID, truenas.GoneVariable))
	return nil
}
