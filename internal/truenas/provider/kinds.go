package provider

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/truenas"
)

// kind is a type of resource.
type kind interface {
	// replacing returns the inputs whose change needs another object.
	replacing() []string
	// inherent returns the inputs that count for a new object only: a change makes no difference to one that is there.
	inherent() []string
	// planned returns the outputs that a preview can know.
	planned(inputs, before resource.PropertyMap, created bool) resource.PropertyMap
	// write makes the object as the inputs say, and returns its ID and outputs.
	write(ctx context.Context, to *truenas.Session, inputs, before resource.PropertyMap) (string, resource.PropertyMap, error)
	// read returns inputs and outputs as they are; nil if there is no such object.
	read(ctx context.Context, from *truenas.Session, ID string, inputs, state resource.PropertyMap) (resource.PropertyMap, resource.PropertyMap, error)
	// remove deletes the object, or returns why it stays. For an object that always stays, it does not call the box.
	remove(ctx context.Context, from *truenas.Session, inputs resource.PropertyMap) (*truenas.Kept, error)
}

// kinds are the types of resources by their tokens.
var kinds = map[string]kind{
	token.Dataset: object[truenas.Dataset]{
		replaces: []string{"name", "owner"}, births: []string{"shareType"}, // a replacement keeps a dataset that has data, so its use would not change
		id:   func(d truenas.Dataset) string { return d.Name },
		byID: func(ID string) truenas.Dataset { return truenas.Dataset{Name: ID, ShareType: "GENERIC"} },
		find: (*truenas.Client).FindDataset, save: (*truenas.Client).WriteDataset, delete: (*truenas.Client).RemoveDataset,
	},
	token.NFSShare: object[truenas.Share]{
		replaces: []string{"path", "owner"},
		id:       func(s truenas.Share) string { return s.Path },
		byID:     func(ID string) truenas.Share { return truenas.Share{Path: ID} },
		find:     (*truenas.Client).FindShare, save: (*truenas.Client).WriteShare, delete: (*truenas.Client).RemoveShare,
	},
	token.ISCSIPortal: object[truenas.Portal]{
		replaces: []string{"owner"},
		id:       func(p truenas.Portal) string { return p.Owner },
		byID:     func(ID string) truenas.Portal { return truenas.Portal{Owner: ID} },
		find:     (*truenas.Client).FindPortal, save: (*truenas.Client).WritePortal, delete: (*truenas.Client).RemovePortal,
	},
	token.ISCSIInitiatorGroup: object[truenas.InitiatorGroup]{
		replaces: []string{"owner"},
		id:       func(g truenas.InitiatorGroup) string { return g.Owner },
		byID:     func(ID string) truenas.InitiatorGroup { return truenas.InitiatorGroup{Owner: ID} },
		find:     (*truenas.Client).FindInitiatorGroup, save: (*truenas.Client).WriteInitiatorGroup, delete: (*truenas.Client).RemoveInitiatorGroup,
	},
	token.Service: object[truenas.Service]{
		replaces: []string{"name"},
		id:       func(s truenas.Service) string { return s.Name },
		byID:     func(ID string) truenas.Service { return truenas.Service{Name: ID} },
		find:     (*truenas.Client).FindService, save: (*truenas.Client).WriteService, keep: truenas.KeepService,
	},
	token.Account: account{},
}

// object is a kind whose objects are identified by their inputs, so that they can always be looked up.
type object[T any] struct {
	replaces []string
	births   []string
	id       func(T) string
	byID     func(string) T
	find     func(*truenas.Client, context.Context, T) (*T, error)
	save     func(*truenas.Client, context.Context, T, *T) error
	delete   func(*truenas.Client, context.Context, T) (*truenas.Kept, error)
	keep     func(T) *truenas.Kept // in the place of delete, for what always stays
}

func (o object[T]) replacing() []string { return o.replaces }

func (o object[T]) inherent() []string { return o.births }

func (o object[T]) planned(inputs, _ resource.PropertyMap, _ bool) resource.PropertyMap {
	return inputs
}

func (o object[T]) write(ctx context.Context, to *truenas.Session, inputs, _ resource.PropertyMap) (string, resource.PropertyMap, error) {
	wanted, err := decode[T](inputs)
	if err != nil {
		return "", nil, err
	}
	err = to.Do(ctx, func(ctx context.Context, c *truenas.Client) error {
		found, err := o.find(c, ctx, wanted)
		if err != nil {
			return err
		}
		return o.save(c, ctx, wanted, found)
	})
	return o.id(wanted), inputs, err
}

func (o object[T]) read(ctx context.Context, from *truenas.Session, ID string, inputs, _ resource.PropertyMap) (resource.PropertyMap, resource.PropertyMap, error) {
	wanted := o.byID(ID)
	if len(inputs) > 0 {
		var err error
		if wanted, err = decode[T](inputs); err != nil {
			return nil, nil, err
		}
	}
	var found *T
	err := from.Do(ctx, func(ctx context.Context, c *truenas.Client) (err error) {
		found, err = o.find(c, ctx, wanted)
		return err
	})
	if err != nil || found == nil {
		return nil, nil, err
	}
	got, err := encode(*found)
	return got, got, err
}

func (o object[T]) remove(ctx context.Context, from *truenas.Session, inputs resource.PropertyMap) (kept *truenas.Kept, err error) {
	wanted, err := decode[T](inputs)
	if err != nil {
		return nil, err
	}
	if o.keep != nil {
		return o.keep(wanted), nil
	}
	err = from.Do(ctx, func(ctx context.Context, c *truenas.Client) (err error) {
		kept, err = o.delete(c, ctx, wanted)
		return err
	})
	return kept, err
}

// decode reads properties as the type of an object. Secrets are read like other values.
func decode[T any](properties resource.PropertyMap) (T, error) {
	var value T
	text, err := json.Marshal(plain(resource.NewProperty(properties)).MapRepl(nil, func(v resource.PropertyValue) (any, bool) {
		if v.IsSecret() || v.IsOutput() {
			return plain(v).MapRepl(nil, nil), true
		}
		return nil, false
	}))
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		return value, fmt.Errorf("the inputs have another form (%w): build em-infra anew", err)
	}
	return value, nil
}

// encode returns an object as properties, in the form of its inputs.
func encode(value any) (resource.PropertyMap, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	return resource.NewPropertyMapFromMap(object), nil
}
