package statusview

import "time"

// Document is the JSON form of a view. Its fields are only ever added to; docs/status-json.md describes them.
type Document struct {
	// Version of this form, 1.
	Version      int          `json:"version"`
	ControlPlane ControlPlane `json:"controlPlane"`
	// Total, Ready and NeedAttention count objects.
	Total         int      `json:"total"`
	Ready         int      `json:"ready"`
	NeedAttention int      `json:"needAttention"`
	Objects       []Object `json:"objects"`
}

// Object is one object of a Document.
type Object struct {
	Kind      string     `json:"kind"`
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	Verdict   Verdict    `json:"verdict"`
	Since     *time.Time `json:"since,omitempty"`
	Reason    string     `json:"reason"`
	Message   string     `json:"message"`
	State     string     `json:"state"`
	Remedy    string     `json:"remedy,omitempty"`
	Warning   string     `json:"warning,omitempty"`
	// Conditions by type.
	Conditions map[string]Condition `json:"conditions"`
}

// Condition is one condition of an Object.
type Condition struct {
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

// JSON is the view as data.
func JSON(v View) Document {
	d := Document{Version: 1, ControlPlane: v.ControlPlane, Total: len(v.Rows), NeedAttention: v.NeedAttention(), Objects: []Object{}}
	for _, r := range v.Rows {
		o := Object{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Verdict: r.Verdict, Reason: r.Reason,
			Message: r.Message, State: r.State, Remedy: r.Remedy, Warning: r.Warning, Conditions: map[string]Condition{}}
		if r.Since != nil {
			since := r.Since.UTC()
			o.Since = &since
		}
		if r.Verdict == Ready {
			d.Ready++
		}
		for _, c := range r.Conditions {
			o.Conditions[c.Type] = Condition{string(c.Status), c.Reason, c.Message, c.LastTransitionTime.UTC()}
		}
		d.Objects = append(d.Objects, o)
	}
	return d
}
