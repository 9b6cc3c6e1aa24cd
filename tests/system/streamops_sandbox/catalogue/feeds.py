"""The topics of the catalogue. Streams that read the same one get the same records when they run side by side."""

from streamops_sandbox.catalogue.case import Feed
from streamops_sandbox.inputs import (
    ad_clicks,
    category_orders,
    clicks,
    customers,
    events,
    impressions,
    purchases,
    sensor_readings,
    transactions,
    words,
)

WORDS = Feed(input=words)
CUSTOMERS = Feed(input=customers)
TRANSACTIONS = Feed(input=transactions)
EVENTS = Feed(input=events)
SENSOR_READINGS = Feed(input=sensor_readings)
CATEGORY_ORDERS = Feed(input=category_orders)
CLICKS = Feed(input=clicks)
PURCHASES = Feed(input=purchases, share=0.5)
IMPRESSIONS = Feed(input=impressions)
AD_CLICKS = Feed(input=ad_clicks)
