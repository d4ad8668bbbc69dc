package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"

	"github.com/em-infra/em-infra/internal/truenas"
)

// away returns why the box refuses the login or does not answer; nil if it does neither. It tries only once: the engine reads every object on a box,
// and a box that never answers would cost a time limit each time.
func (p *Provider) away(ctx context.Context) error {
	p.trying.Do(func() {
		p.isAway = p.session.Do(p.until(ctx), func(context.Context, *truenas.Client) error { return nil })
	})
	return p.isAway
}

// unread returns an object as the state has it, since the box is away.
func (p *Provider) unread(r plugin.ReadRequest, away error) plugin.ReadResponse {
	p.warnOnce(r.URN, "what this stack has on TrueNAS is not compared: "+away.Error())
	return plugin.ReadResponse{ReadResult: plugin.ReadResult{ID: r.ID, Inputs: r.Inputs, Outputs: r.State}}
}

// tellAway warns if the box is away. A run that changes nothing there would otherwise silently accept a wrong key, and write it into the state.
func (p *Provider) tellAway(ctx context.Context, urn resource.URN) {
	if away := p.away(ctx); away != nil {
		p.warnOnce(urn, "this run can change nothing on TrueNAS: "+away.Error())
	}
}

// warnOnce says that the box is away, for the first object that this concerns.
func (p *Provider) warnOnce(urn resource.URN, text string) {
	p.warning.Do(func() { p.warn(urn, text) })
}

// forget deletes an object from the state alone, if a person has declared that the box is gone, and nothing answers there. failed is why the object
// was not deleted on the box: each deletion is tried there first, since the box may have come back during the run.
func (p *Provider) forget(r plugin.DeleteRequest, failed error) error {
	switch {
	case !errors.Is(failed, truenas.ErrNoAnswer):
		return failed
	case !truenas.IsGoneForGood(p.endpoint):
		return fmt.Errorf("%w%s", failed, truenas.OrGoneForGood(p.endpoint))
	}
	p.warn(r.URN, fmt.Sprintf("%s is forgotten: %s says that its box is gone for good", r.ID, truenas.GoneVariable))
	return nil
}
