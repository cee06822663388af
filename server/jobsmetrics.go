package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hark/jobs"
)

// jobMetrics are those of jobs, webhooks and files that are got by URL.
type jobMetrics struct {
	jobsAccepted prometheus.Counter
	jobsOver     *prometheus.CounterVec // state
	webhooks     *prometheus.CounterVec // outcome
	fetches      *prometheus.CounterVec // outcome
	fetchBytes   prometheus.Counter
	fetchSeconds prometheus.Histogram
}

func newJobMetrics(m *metrics) jobMetrics {
	return jobMetrics{
		jobsAccepted: counter(m, "jobs_accepted_total", "Jobs accepted.").WithLabelValues(),
		jobsOver:     counter(m, "jobs_over_total", "Jobs that came to an end, by the state they are in.", "state"),
		webhooks:     counter(m, "webhook_attempts_total", "Calls of webhooks, by what came of them.", "outcome"),
		fetches:      counter(m, "fetches_total", "Files that were to be got by URL, by what came of it.", "outcome"),
		fetchBytes:   counter(m, "fetch_bytes_total", "Bytes of files got by URL.").WithLabelValues(),
		fetchSeconds: histogram(m, "fetch_seconds", "Time to get a file by URL.",
			secondsBuckets).WithLabelValues().(prometheus.Histogram),
	}
}

func (m *metrics) countJobEnd(state jobs.State) { m.jobsOver.WithLabelValues(string(state)).Inc() }

func (m *metrics) countFetch(bytes int64, took time.Duration, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	m.fetches.WithLabelValues(outcome).Inc()
	m.fetchBytes.Add(float64(bytes))
	m.fetchSeconds.Observe(took.Seconds())
}

// watchJobs shows what a store holds, at each scrape.
func (m *metrics) watchJobs(store *jobs.Store) { m.registry.MustRegister(jobsCollector{store}) }

type jobsCollector struct{ store *jobs.Store }

var (
	jobsDesc      = prometheus.NewDesc(namespace+"_jobs", "Jobs that are kept, by state.", []string{"state"}, nil)
	jobsBytesDesc = prometheus.NewDesc(namespace+"_jobs_bytes",
		"Bytes on disk of all jobs, audio and results.", nil, nil)
	jobsLimitDesc = prometheus.NewDesc(namespace+"_jobs_limit_bytes", "Bytes on disk that all jobs may take.", nil, nil)
	hooksDesc     = prometheus.NewDesc(namespace+"_webhooks_pending",
		"Webhooks that are to be called, again or for the first time.", nil, nil)
)

func (c jobsCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{jobsDesc, jobsBytesDesc, jobsLimitDesc, hooksDesc} {
		ch <- d
	}
}

func (c jobsCollector) Collect(ch chan<- prometheus.Metric) {
	stats := c.store.Stats()
	for _, state := range jobs.States() {
		ch <- prometheus.MustNewConstMetric(jobsDesc, prometheus.GaugeValue, float64(stats.Jobs[state]), string(state))
	}
	ch <- prometheus.MustNewConstMetric(jobsBytesDesc, prometheus.GaugeValue, float64(stats.Bytes))
	ch <- prometheus.MustNewConstMetric(jobsLimitDesc, prometheus.GaugeValue, float64(stats.MaxBytes))
	ch <- prometheus.MustNewConstMetric(hooksDesc, prometheus.GaugeValue, float64(stats.Hooks))
}
