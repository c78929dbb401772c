"""What a private package adds to Sociarium: entries that say where things live."""

from sociarium.catalogue import ArticleEntry, Entry

NURSERY = Entry(
    id="nursery-v0",
    where="orchard_pack.nursery:Nursery",
    players=2,
    paper="",
    summary="flowers in somebody else's garden",
    cast="script:gardener*2",
    kind="garden",
)
TEA_STALL = Entry(
    id="tea_stall-v0",
    where="orchard_pack.tea_stall:TeaStall",
    players=5,
    paper="",
    summary="orders, a kettle and a hidden brewing time",
    cast="random*5",
    kind="kitchen",
)
TITHE = ArticleEntry("tithe", "orchard_pack.tithe:Tithe", "a tenth of all points goes to seat 0")
