package unwind
import ("testing";"os";"fmt";"time";"github.com/flametel/flametel/symbolize/elffile";"runtime")
func TestZZ(t *testing.T){
 for _,p:=range os.Args {
  if len(p)<1 || p[0]!='/' || p==os.Args[0] {continue}
  r,err:=os.Open(p); if err!=nil {t.Fatal(err)}
  st,_:=r.Stat()
  var best time.Duration=1<<62
  var tab *Table
  for range 3 {
   runtime.GC()
   var m0,m1 runtime.MemStats
   runtime.ReadMemStats(&m0)
   s:=time.Now()
   f,err:=elffile.New(r,st.Size()); if err!=nil {t.Fatal(err)}
   tab,err=Compile(f,r,Options{}); if err!=nil {t.Fatal(err)}
   best=min(best,time.Since(s))
   runtime.ReadMemStats(&m1)
   if best==0 {fmt.Println(m1.TotalAlloc-m0.TotalAlloc)}
  }
  fmt.Println("==",p,best)
  tab.Describe(os.Stdout, os.Getenv("ROWS")!="")
 }
}
