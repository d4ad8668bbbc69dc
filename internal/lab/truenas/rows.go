package truenas

import (
	"slices"
	"strconv"
)

// rowService is a service whose objects have numbers as IDs: query, get_instance, create, update, delete (service/crud_service.py).
type rowService struct {
	box       *Box
	namespace string
	// noun is how the box calls an object in errors: the class of the service (service/base.py, verbose_name).
	noun string
	// role is the prefix of its own roles; those of the wider ones include them (role.py).
	role  string
	wider []string
	// param is the name of the parameter with the fields, before _create and _update; empty for data.
	param string
	// fields are those of create; those of update are the same without the ones in fixed.
	fields model
	fixed  []string
	// deletion are the parameters of delete after the ID.
	deletion model
	// check refuses what the models cannot. old is nil for a new object.
	check func(row, old entry, schema string, problems *invalids)
	// schema is the prefix of attributes in errors, before _create and _update.
	schema string
	// complete adds what only the answers have.
	complete func(row entry) entry
	// made is called with a new object, deleted with one that is gone; nil for none.
	made, deleted func(row entry)
}

func (s *rowService) methods() map[string]method {
	read, write := s.roles()
	ID := field{"id", integer, required}
	return map[string]method{
		s.namespace + ".query": {roles: read, parameters: queryParameters, work: func(_ *connection, params []any) (any, error) {
			list := make([]entry, len(s.rows()))
			for i, row := range s.rows() {
				list[i] = copyOf(s.whole(row)).(entry)
			}
			return query(list, params[0].([]any), params[1].(entry))
		}},
		s.namespace + ".get_instance": {
			roles: read, parameters: model{ID, {"options", queryOptions.object, entry{}}},
			work: func(_ *connection, params []any) (any, error) {
				row, err := s.row(params[0].(int64))
				return s.whole(row), err
			},
		},
		s.namespace + ".create": {
			roles: write, parameters: model{{s.parameter("_create"), s.fields.object, required}},
			work: func(_ *connection, params []any) (any, error) { return s.create(params[0].(entry)) },
		},
		s.namespace + ".update": {
			roles: write, parameters: model{ID, {s.parameter("_update"), s.fields.forUpdate(s.fixed...).object, required}},
			work: func(_ *connection, params []any) (any, error) { return s.update(params[0].(int64), params[1].(entry)) },
		},
		s.namespace + ".delete": {
			roles: write, parameters: append(model{ID}, s.deletion...),
			work: func(_ *connection, params []any) (any, error) { return s.delete(params[0].(int64)) },
		},
	}
}

func (s *rowService) roles() (read, write []string) {
	read = []string{"READONLY_ADMIN"}
	for _, prefix := range append([]string{s.role}, s.wider...) {
		read, write = append(read, prefix+"_READ", prefix+"_WRITE"), append(write, prefix+"_WRITE")
		if prefix == "SHARING" {
			write = append(write, "SHARING_ADMIN")
		}
	}
	return append(read, write...), write
}

func (s *rowService) parameter(suffix string) string {
	if s.param == "" {
		return "data"
	}
	return s.param + suffix
}

func (s *rowService) rows() []entry { return s.box.state.Rows[s.namespace] }

func (s *rowService) row(ID int64) (entry, error) {
	if row := s.box.find(s.namespace, strconv.FormatInt(ID, 10)); row != nil {
		return row, nil
	}
	return nil, notFound{s.noun + " " + strconv.FormatInt(ID, 10)}
}

// find returns the row of a namespace with an ID in decimal; nil if there is none.
func (b *Box) find(namespace, ID string) entry {
	for _, row := range b.state.Rows[namespace] {
		if words(row["id"]) == ID {
			return row
		}
	}
	return nil
}

func (s *rowService) whole(row entry) entry {
	if row == nil || s.complete == nil {
		return row
	}
	return s.complete(copyOf(row).(entry))
}

func (s *rowService) create(given entry) (any, error) {
	var problems invalids
	if s.check != nil {
		s.check(given, nil, s.schema+"_create", &problems)
	}
	if err := problems.orNil(); err != nil {
		return nil, err
	}
	return s.insert(given), nil
}

// insert adds a row and returns it as an answer.
func (s *rowService) insert(given entry) entry {
	s.box.state.Next[s.namespace]++
	given["id"] = s.box.state.Next[s.namespace]
	row := copyOf(given).(entry)
	s.box.state.Rows[s.namespace] = append(s.rows(), row)
	if s.made != nil {
		s.made(row)
	}
	return s.whole(row)
}

func (s *rowService) update(ID int64, given entry) (any, error) {
	row, err := s.row(ID)
	if err != nil {
		return nil, err
	}
	changed := copyOf(row).(entry)
	for name, value := range given {
		changed[name] = copyOf(value)
	}
	var problems invalids
	if s.check != nil {
		s.check(changed, row, s.schema+"_update", &problems)
	}
	if err := problems.orNil(); err != nil {
		return nil, err
	}
	for name, value := range changed {
		row[name] = value
	}
	return s.whole(row), nil
}

func (s *rowService) delete(ID int64) (any, error) {
	row, err := s.row(ID)
	if err != nil {
		return nil, err
	}
	s.box.state.Rows[s.namespace] = slices.DeleteFunc(s.rows(), func(one entry) bool { return words(one["id"]) == words(row["id"]) })
	if s.deleted != nil {
		s.deleted(row)
	}
	return true, nil
}
