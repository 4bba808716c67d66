package choose

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Names of attributes, as the receiver ebpf_profiler uses them.
const (
	attrHost       = "host.name"
	attrAccounting = "flametel.accounting"
	attrLeftOut    = "flametel.samples.left_out"
	scopeName      = "github.com/flametel/flametel/exporter/choose"
)

// account is what a number of samples left out belongs to: the host and the
// profiles' type, and when that was.
type account struct {
	host                   string
	sampleType, sampleUnit int32
	periodType, periodUnit int32
	period                 int64
	start                  pcommon.Timestamp
	duration               uint64
}

func accountOf(resource pcommon.Map, prof pprofile.Profile) account {
	host := ""
	if v, ok := resource.Get(attrHost); ok {
		host = v.AsString()
	}
	return account{
		host:       host,
		sampleType: prof.SampleType().TypeStrindex(), sampleUnit: prof.SampleType().UnitStrindex(),
		periodType: prof.PeriodType().TypeStrindex(), periodUnit: prof.PeriodType().UnitStrindex(),
		period: prof.Period(), start: prof.Time(), duration: prof.DurationNano(),
	}
}

// addAccounts adds a profile without samples for each account.
func addAccounts(p pprofile.Profiles, left map[account]int64) {
	if len(left) == 0 {
		return
	}
	strings, attributes := p.Dictionary().StringTable(), p.Dictionary().AttributeTable()
	if strings.Len() == 0 {
		strings.Append("") // index 0 of every table is the zero value
	}
	if attributes.Len() == 0 {
		attributes.AppendEmpty()
	}
	key := int32(strings.Len())
	strings.Append(attrLeftOut)
	for a, n := range left {
		rp := p.ResourceProfiles().AppendEmpty()
		rp.Resource().Attributes().PutBool(attrAccounting, true)
		if a.host != "" {
			rp.Resource().Attributes().PutStr(attrHost, a.host)
		}
		sp := rp.ScopeProfiles().AppendEmpty()
		sp.Scope().SetName(scopeName)
		prof := sp.Profiles().AppendEmpty()
		prof.SampleType().SetTypeStrindex(a.sampleType)
		prof.SampleType().SetUnitStrindex(a.sampleUnit)
		prof.PeriodType().SetTypeStrindex(a.periodType)
		prof.PeriodType().SetUnitStrindex(a.periodUnit)
		prof.SetPeriod(a.period)
		prof.SetTime(a.start)
		prof.SetDurationNano(a.duration)
		prof.AttributeIndices().Append(int32(attributes.Len()))
		kv := attributes.AppendEmpty()
		kv.SetKeyStrindex(key)
		kv.Value().SetInt(n)
	}
}
