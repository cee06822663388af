package server

import (
	"encoding/json"
	"fmt"

	"hark/engine"
)

// jobRequest is what a job was asked for, as it's kept.
type jobRequest struct {
	OpenAI bool        `json:"openai"`
	Task   engine.Task `json:"task"`
	Fields fields      `json:"fields"`
	Name   string      `json:"name,omitempty"` // of the file
	Type   string      `json:"type,omitempty"`
	URL    string      `json:"url,omitempty"` // where the audio is to be got, if it wasn't sent
}

func (q *jobRequest) dialect() dialect { return dialect{openAI: q.OpenAI, task: q.Task} }

// request reads what a job was asked for.
func (o *office) request(id string) (*jobRequest, error) {
	text, err := o.store.Request(id)
	if err != nil {
		return nil, err
	}
	return decodeRequest(text)
}

// decodeRequest reads what json.Marshal made of a jobRequest.
func decodeRequest(text []byte) (*jobRequest, error) {
	q := &jobRequest{}
	if err := json.Unmarshal(text, q); err != nil {
		return nil, fmt.Errorf("request of a job: %w", err)
	}
	if q.Fields == nil {
		q.Fields = fields{}
	}
	return q, nil
}
